// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "capture/capture.h"
#include "capture/capture_passes.h"
#include "capture/capture_window.h"
#include "capture/input.h"
#include "capture/row_selection.h"
#include "capture/shard_plan.h"
#include "capture/sites.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/router_edit.h"
#include "store/capture_writer.h"

namespace lime {

/// Everything about a capture that is decided before the model is loaded.
struct CaptureSetup {
  ModelConfig config;
  std::vector<RouterEdit> router_edits;
  CaptureInput input;
  std::unique_ptr<RowSelection> selection;  ///< refers to input
  std::vector<CaptureSite> sites;
  std::vector<SequenceRange> shards;
  std::int64_t smallest_batch = 1;  ///< sequences that must go together: 2 of a pair
  std::int64_t batch_size = 0;
  /// By whoever began the capture. Then passes over short sequences hold no more of them.
  bool batch_is_given = false;
  std::int64_t bytes_per_row = 0;
  std::size_t queue_bytes = 0;     ///< of rows that wait for the disk
  CapturePasses::Settings passes;  ///< with the points that are listened to
  bool allow_nan = false;
  bool scores = false;  ///< the log-likelihood of every sequence is asked for
  WindowLimits windows;
  CapturePlan plan;
  CaptureOutlook outlook;
};

/// Where a capture computes, as far as that decides how it is cut.
struct CapturePlace {
  std::vector<c10::Device> devices;
  /// For an automatic batch size on a device whose memory is found out by trying: the largest
  /// number of sequences per pass, at most as many as it is given; 0 if none fits.
  std::function<std::int64_t(const CaptureSetup& setup, std::int64_t most)> largest_batch = {};
};

/// Reads the input, finds sites, layers, tokens and rows, and refuses what cannot be done.
/// @return on the heap, because the selection refers to the input.
/// @throws InvalidArgument, FormatError, IoError  as run_capture()
std::unique_ptr<const CaptureSetup> prepare_capture(const CaptureOptions& options,
                                                    const Checkpoint& checkpoint,
                                                    const CaptureTuning& tuning,
                                                    const CapturePlace& place);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "capture/activation_collector.h"
#include "capture/capture.h"
#include "capture/capture_passes.h"
#include "capture/input/input.h"
#include "capture/row_selection.h"
#include "capture/shard_plan.h"
#include "capture/sites.h"
#include "capture/window_plan.h"
#include "checkpoint/checkpoint.h"
#include "store/capture_writer.h"

namespace lime {

/// Settings of a capture that are determined before the model is loaded.
struct CaptureSetup {
  ModelConfig config;
  ModelEdits edits;
  CaptureInput input;
  std::unique_ptr<RowSelection> selection;  ///< refers to input
  std::vector<CaptureSite> sites;
  std::vector<SequenceRange> shards;
  /// Shards that are written at the same time; every pass has sequences of each of them.
  std::int64_t shards_at_once = 1;
  int writer_threads = 1;           ///< of each shard that is being written
  std::int64_t smallest_batch = 1;  ///< sequences that must share a pass: 2 of a pair
  std::int64_t batch_size = 0;
  /// True if the user who started the capture gave batch_size. Passes over short sequences then use
  /// no more.
  bool batch_is_given = false;
  std::int64_t bytes_per_row = 0;
  std::size_t queue_bytes = 0;     ///< of rows waiting for the disk
  CapturePasses::Settings passes;  ///< includes the hooked points
  bool allow_nan = false;
  bool scores = false;  ///< the log-likelihood of every sequence is requested
  WindowLimits windows;
  CapturePlan plan;
  CapturePreview preview;
};

/// Device properties that determine the batch and queue sizes of a capture.
struct CapturePlace {
  std::vector<c10::Device> devices;
  /// For an automatic batch size on a device whose free memory is found by trial: returns the
  /// largest number of sequences per pass, at most `most`; 0 if none fits.
  std::function<std::int64_t(const CaptureSetup& setup, std::int64_t most)> largest_batch = {};
};

/// Returns the options that determine the file's content: equal for all runs of one capture.
/// @param edits  those of options.edit
Json content_options(const CaptureOptions& options, const ModelEdits& edits);

/// Reads the input, determines sites, layers, tokens and rows, and rejects unsupported
/// combinations.
/// @return a heap object, because the selection refers to the input.
/// @throws InvalidArgument, FormatError, IoError  as run_capture()
std::unique_ptr<const CaptureSetup> prepare_capture(const CaptureOptions& options,
                                                    const Checkpoint& checkpoint,
                                                    const CaptureTuning& tuning,
                                                    const CapturePlace& place);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capture/capture.h"
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
  std::int64_t batch_size = 0;
  std::int64_t bytes_per_row = 0;
  std::size_t queue_bytes = 0;  ///< of rows that wait for the disk
  bool allow_nan = false;
  bool scores = false;  ///< the log-likelihood of every sequence is asked for
  WindowLimits windows;
  CapturePlan plan;
  CaptureOutlook outlook;
};

/// Reads the input, finds sites, layers, tokens and rows, and refuses what cannot be done.
/// @return on the heap, because the selection refers to the input.
/// @throws InvalidArgument, FormatError, IoError  as run_capture()
std::unique_ptr<const CaptureSetup> prepare_capture(const CaptureOptions& options,
                                                    const Checkpoint& checkpoint,
                                                    const CaptureTuning& tuning);

}  // namespace lime

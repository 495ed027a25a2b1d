// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "analysis/report/results_output.h"
#include "capture/capture.h"
#include "capture/capture_options.h"
#include "measure/measure_options.h"

namespace lime {

struct MeasureResult {
  std::vector<Report> reports;                 ///< of each measurement
  std::vector<std::filesystem::path> outputs;  ///< the files of the reports
  std::filesystem::path sample;                ///< the capture of some sequences; empty: none
  std::int64_t num_tokens = 0;                 ///< that went through the model
  std::int64_t repeated_tokens = 0;            ///< of these, for the second time
  double seconds = 0.0;                        ///< of the passes, from the loaded model on
  std::int64_t peak_memory_bytes = 0;          ///< of the whole process
};

/// Checks the options of a run with measurements.
/// @throws InvalidArgument  as run_measure(), without reading files.
void check_measure_options(const CaptureOptions& options, const MeasureOptions& measure);

/// Runs a model over an input, measures its activations during the passes, and writes results files
/// as lime-metrics does for a capture; activations are not stored. See MeasurePasses.
///
/// Equal to a capture followed by lime-metrics up to rounding. On the CPU bit-identical for any
/// number of threads.
/// @throws InvalidArgument, FormatError, IoError, NumericalError  as run_capture(), and for
///         measurements that are invalid or need stored activations.
/// @throws Interrupted  if `stop` was requested.
MeasureResult run_measure(const CaptureOptions& options, const MeasureOptions& measure,
                          const CaptureCallbacks& callbacks = {}, std::stop_token stop = {},
                          const CaptureTuning& tuning = {});

}  // namespace lime

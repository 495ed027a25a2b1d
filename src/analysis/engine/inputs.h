// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "core/program/progress.h"
#include "store/results_file.h"

namespace lime {

/// A file, or several that are one, that numbers are computed from.
struct AnalysisInput {
  std::string path;                          ///< as it was given
  std::string label;                         ///< as in the rows
  std::vector<std::filesystem::path> files;  ///< all that is read of it
  /// Hash of what is read where that is not whole files; then `files` are not hashed.
  std::string sha256 = {};
  std::string text_sha256 = {};  ///< of a capture: that of what it was made of
  /// Of a capture: what stays the same when a damaged file is restored or captured again.
  std::string identity = {};
};

/// The input of an analysis of one capture, shards included.
AnalysisInput capture_input(const CaptureReader& capture, const std::string& label);

/// The inputs of an analysis of these captures, shards included.
std::vector<AnalysisInput> capture_inputs(std::span<const ChosenCapture> captures);

/// Path, content hash and label of each input. The hash of an input of several files is that of the
/// list of their hashes (docs/results_format.md); files are hashed on `num_threads` threads.
/// @param on_progress  counts bytes.
/// @throws IoError, Interrupted
std::vector<ResultsInput> hash_inputs(std::span<const AnalysisInput> inputs, int num_threads,
                                      const std::stop_token& stop = {},
                                      const ProgressFn& on_progress = {});

}  // namespace lime

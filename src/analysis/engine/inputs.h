// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "core/json.h"
#include "core/program/progress.h"
#include "store/results_file.h"

namespace lime {

/// An input of the computation: one file, or several that belong together.
struct AnalysisInput {
  std::string path;                          ///< as it was given
  std::string label;                         ///< as in the rows
  std::vector<std::filesystem::path> files;  ///< all files that are read
  /// Hash of the parts read, if not whole files; then `files` are not hashed.
  std::string sha256 = {};
  std::string text_sha256 = {};  ///< of a capture: hash of its text
  /// Identity of a capture, unchanged when a damaged file is restored or captured again.
  std::string identity = {};
};

AnalysisInput capture_input(const CaptureReader& capture, const std::string& label);

/// Returns the inputs of an analysis of these captures, shards included.
std::vector<AnalysisInput> capture_inputs(std::span<const ChosenCapture> captures);

/// Returns path, content hash and label of each input. The hash of several files is that of the
/// list of their hashes (docs/results_format.md).
/// @param on_progress  counts bytes. @throws IoError, Interrupted
std::vector<ResultsInput> hash_inputs(std::span<const AnalysisInput> inputs, int num_threads,
                                      const std::stop_token& stop = {},
                                      const ProgressFn& on_progress = {});

/// Collects the `provenance` of a result, except its options.
class Provenance {
 public:
  /// Starts the clock. @param num_threads  number of threads of the analysis
  explicit Provenance(int num_threads);

  /// Stores the seconds since the last call (or the start) under `name`, e.g. "compute".
  void lap(const char* name);

  /// Returns tool, command, created_utc, versions, machine (the CPU model), threads, and seconds in
  /// total and per lap.
  Json to_json() const;

 private:
  using Clock = std::chrono::steady_clock;
  int num_threads_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  Json laps_ = Json::object();
};

}  // namespace lime

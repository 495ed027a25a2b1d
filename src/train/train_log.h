// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/json.h"

namespace lime {

/// The log of a training run: one JSON object per line, each with `event` (start, step, validation,
/// save, resume, interrupted, failed, evaluation, end) and, where it belongs to one, `step`.
///
/// Lines are handed to the system as soon as they are complete, so that a killed run loses none.
/// pandas: `read_json(path, lines=True)`. Not thread-safe.
class TrainLog {
 public:
  /// Begins a log at `path`, in place of any that is there. @throws IoError
  static TrainLog create(const std::filesystem::path& path);
  /// Goes on with the log at `path` behind the lines up to `step`; what a killed run wrote beyond
  /// its last saved state goes, as does a line cut short. Begins one if there is none. @throws
  /// IoError
  static TrainLog resume(const std::filesystem::path& path, std::int64_t step);

  /// Whether it has a line with this `event` and `step`. @throws IoError
  bool holds(std::string_view event, std::int64_t step) const;

  /// Adds one line. @throws IoError
  void write(const Json& line);

 private:
  explicit TrainLog(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace lime

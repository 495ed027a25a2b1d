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
/// Lines are flushed to the system as soon as they are complete, so a killed run loses none.
/// pandas: `read_json(path, lines=True)`. Not thread-safe.
class TrainLog {
 public:
  /// Creates a log at `path`, replacing an existing one. @throws IoError
  static TrainLog create(const std::filesystem::path& path);
  /// Resumes the log at `path` after the lines up to `step`. Removes lines that a killed run wrote
  /// after its last saved state, and a truncated last line. Creates a log if there is none. @throws
  /// IoError
  static TrainLog resume(const std::filesystem::path& path, std::int64_t step);

  /// Returns true if the log has a line with this `event` and `step`. @throws IoError
  bool holds(std::string_view event, std::int64_t step) const;

  /// Appends one line. @throws IoError
  void write(const Json& line);

 private:
  explicit TrainLog(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace lime

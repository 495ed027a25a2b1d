// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/atomic_file.h"
#include "core/files/checked_lines.h"
#include "core/files/input_file.h"
#include "core/files/output_lock.h"
#include "core/json.h"

namespace lime {

/// Writes a file of one JSON value per line over one or several runs: an interrupted run leaves
/// `NAME.part`, whose lines have checksums; the next one reads and continues it. Not thread-safe.
class ResumableLines {
 public:
  /// @param resume  continue an earlier run, or its finished file
  /// @throws InvalidArgument  if it is false and there is a part, or another process writes the
  ///                          file.
  /// @throws FormatError      if a line of the part before the last is damaged.
  /// @throws IoError          if the file cannot be written.
  ResumableLines(const std::filesystem::path& output, bool resume);

  const std::filesystem::path& part() const { return part_; }

  /// Returns the next lines of the earlier run; none if fewer than `count` are complete. Lines that
  /// add() writes follow those that were returned.
  /// @throws FormatError  if a line is not JSON.
  std::vector<Json> next(std::size_t count);

  /// Writes lines to disk. @throws IoError
  void add(std::span<const Json> lines);

  /// Gives the file its name, without the checksums. @throws IoError
  void commit();

 private:
  /// A line of the earlier run.
  struct Line {
    std::string_view text;
    std::string where;
    std::size_t end = 0;
  };

  CheckedLinesWriter& writer();

  OutputLock lock_;
  AtomicFile file_;
  std::filesystem::path part_;
  std::unique_ptr<MappedFile> earlier_;
  std::vector<Line> lines_;                     ///< of `earlier_`
  std::size_t returned_ = 0;                    ///< of these
  std::unique_ptr<CheckedLinesWriter> writer_;  ///< once add() was called
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "analysis/analysis.h"
#include "core/json.h"

namespace lime {

/// Keeps the finished units of an analysis on disk, so that an interrupted run can be gone on with.
///
/// A text file of one JSON value per line: first a header (metric, options, hashes of the inputs,
/// versions), then one line per finished unit, each on disk before the next is written. It exists
/// from the first finished unit to remove(). A last line that a killed process cut short is
/// dropped. Not thread-safe.
class Journal {
 public:
  /// An object that keeps nothing.
  Journal() = default;
  /// @param path    file of the journal: journal_path() of the output
  /// @param resume  whether units of an earlier run are taken over
  /// @throws InvalidArgument  if they are not, and there are some
  Journal(std::filesystem::path path, bool resume);
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;

  bool keeps() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }

  /// Sets the header, and reads what an earlier run has finished: results by the text of the
  /// unit's key.
  /// @throws InvalidArgument  if the earlier run had other options, inputs or versions, names the
  ///                          first difference; or if another process is writing it.
  /// @throws FormatError      if a line before the last is damaged.
  std::map<std::string, UnitResult> open(const Json& header);

  /// Appends a finished unit. @throws IoError
  void add(const Json& key, const UnitResult& result);

  /// Deletes the file: the results are safe elsewhere, or nobody can go on from here.
  void remove();

 private:
  void create();
  void write_line(const std::string& line);
  void close();

  std::filesystem::path path_;
  std::string header_;
  int file_ = -1;
};

/// `NAME.part` beside an output file.
std::filesystem::path journal_path(const std::filesystem::path& output);

/// The first entry in which two headers differ, as "options.alpha was 0.5 and is 1.0"; empty if
/// none.
std::string first_difference(const Json& before, const Json& now);

/// The result as one JSON value and back; numbers come back bit for bit.
Json unit_result_to_json(const UnitResult& result);
UnitResult unit_result_from_json(const Json& value);

}  // namespace lime

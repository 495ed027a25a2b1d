// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/engine/analysis.h"
#include "core/files/checked_lines.h"
#include "core/json.h"
#include "core/program/work_share.h"

namespace lime {

/// Schema in a journal's header. Journals of other schemas are not resumed.
inline constexpr const char* kJournalSchema = "lime-journal/3";

/// Results of units by their keys.
using FinishedUnits = std::unordered_map<ResultRow, UnitResult, ResultRowHash>;

/// Stores the finished units of an analysis on disk, so that an interrupted run can be resumed.
///
/// A text file of one JSON value per line: a header (metric, options, hashes of the inputs,
/// versions), then one line per finished unit, each with its checksum (CheckedLinesWriter) and on
/// disk before the next is written. A last line that is cut short or damaged is dropped. Processes
/// that share the units write a journal each, `NAME.part.I-of-N`, and read those of the others. Not
/// thread-safe.
class Journal {
 public:
  Journal() = default;
  /// @param path    journal_path() of the output
  /// @param resume  whether units of an earlier run are reused
  /// @throws InvalidArgument  if they are not, and there are some
  Journal(const std::filesystem::path& path, bool resume, const WorkShare& share = {});

  bool keeps() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }
  const WorkShare& share() const { return share_; }

  /// Sets the header, and reads what an earlier run and other processes have finished: results by
  /// the unit's key.
  /// @param identities  of inputs, by label: unchanged when a damaged file is restored, though its
  ///                    hash may change. See note_damage().
  /// @throws InvalidArgument  if the earlier run had other options, inputs or versions, names the
  ///                          first difference; or if another process is writing its journal.
  /// @throws FormatError      if a line before the last is damaged.
  FinishedUnits open(const Json& header, const Json& identities = Json::object());

  void add(const ResultRow& key, const UnitResult& result);

  /// Notes that a unit met a damaged input, so that the run can be resumed once the input is
  /// restored. @return false if nothing is stored, because nothing is finished. @throws IoError
  bool note_damage();

  /// Reads what all processes have finished so far, as open().
  FinishedUnits finished() const;

  /// Deletes the file; the run can no longer be resumed.
  void remove();
  /// Deletes those of the other processes too: the results are safe elsewhere.
  void remove_all();

 private:
  /// @param own_end  where the last line of this process's journal that is kept ends
  FinishedUnits read(std::size_t& own_end) const;
  void create();
  /// Appends a line, after the header if it is the first.
  void append(const std::string& line);

  std::filesystem::path base_;  // of the names of all journals of the output
  std::filesystem::path path_;
  WorkShare share_;
  std::string header_;
  Json identities_;
  std::unique_ptr<CheckedLinesWriter> file_;
};

/// Returns `NAME.part` beside an output file.
std::filesystem::path journal_path(const std::filesystem::path& output);

/// Returns the existing journals: `path` itself and `path.I-of-N`.
std::vector<std::filesystem::path> journals_at(const std::filesystem::path& path);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/journal.h"

#include <sys/file.h>

#include <cerrno>

#include "core/files/input_file.h"
#include "core/utf8.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::string in_quotes(const fs::path& path) { return "'" + path.string() + "'"; }

/// Empty if the file no longer exists because another process has finished the results.
std::string read_whole(const fs::path& path) {
  try {
    InputFile file(path);
    std::string text;
    std::array<char, 65536> buffer;
    while (const std::size_t count = file.read(buffer)) text.append(buffer.data(), count);
    return text;
  } catch (const IoError&) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return "";
    throw;
  }
}

/// Contents of a journal.
struct JournalLines {
  Json header;                    ///< null in an empty one
  Json damaged = Json::object();  ///< identities of the inputs where a unit found one damaged
  FinishedUnits units;
  std::size_t end = 0;  ///< of the last line that is kept
};

/// Refuses a journal of another run.
/// @param same  inputs, by label, whose hash may be another
void check_header(const fs::path& path, Json before, const std::string& header, const Json& same) {
  const Json now = parse_json(header, "header");
  const Json::json_pointer inputs("/inputs");
  for (const auto& input : same.items()) {
    const Json::json_pointer place = inputs / input.key();
    if (before.contains(place) && now.contains(place)) before[place] = now[place];
  }
  const auto difference = first_difference(before, now, KeyOrder::kCounts);
  if (!difference) return;
  throw InvalidArgument(
      "{}: was started with different options, {}; rerun with the original ones, or remove the "
      "file",
      in_quotes(path), to_text(*difference));
}

// A result as one JSON value and back; numbers stay bitwise equal.

Json unit_result_to_json(const UnitResult& result) {
  Json value = Json::object();
  value["rows"] = Json::array();
  for (const ResultRow& row : result.rows) value["rows"].push_back(row_to_json(row));
  value["samples"] = Json::array();
  for (const Samples& samples : result.samples) {
    value["samples"].push_back({{"key", row_to_json(samples.key)},
                                {"quantity", samples.quantity},
                                {"items", samples.items},
                                {"identity", samples.identity},
                                {"values", samples.values}});
  }
  value["matrices"] = Json::array();
  for (const NamedMatrix& matrix : result.matrices) {
    const std::vector<double> values(matrix.values.data(),
                                     matrix.values.data() + matrix.values.size());
    value["matrices"].push_back({{"name", matrix.name},
                                 {"rows", matrix.values.rows()},
                                 {"columns", matrix.values.cols()},
                                 {"values", values}});
  }
  return results_value(value);
}

UnitResult unit_result_from_json(const Json& value) {
  UnitResult result;
  for (const Json& row : value.at("rows")) result.rows.push_back(row_from_json(row, "rows"));
  for (const Json& samples : value.at("samples")) {
    result.samples.push_back({row_from_json(samples.at("key"), "key"), samples.at("quantity"),
                              samples.at("items"), samples.at("identity"),
                              samples.at("values").get<std::vector<double>>()});
  }
  for (const Json& entry : value.at("matrices")) {
    const auto values = entry.at("values").get<std::vector<double>>();
    const auto rows = entry.at("rows").get<std::int64_t>();
    const auto columns = entry.at("columns").get<std::int64_t>();
    const bool fits = rows >= 0 && columns >= 0 &&
                      static_cast<double>(rows) * static_cast<double>(columns) ==
                          static_cast<double>(values.size());
    throw_if<FormatError>(!fits, "a matrix must have {} x {} numbers, got {}", rows, columns,
                          values.size());
    NamedMatrix matrix{entry.at("name"), MatrixD(rows, columns)};
    std::copy(values.begin(), values.end(), matrix.values.data());
    result.matrices.push_back(std::move(matrix));
  }
  return result;
}

/// A finished unit: its key and its result. @throws FormatError
std::pair<ResultRow, UnitResult> read_unit(const Json& line, const std::string& where) {
  try {
    return {row_from_json(line.at("unit"), "unit"), unit_result_from_json(line.at("result"))};
  } catch (const nlohmann::json::exception&) {
    throw FormatError("{}: is not a finished unit", where);
  } catch (const FormatError& error) {
    throw FormatError("{}: {}", where, error.what());
  }
}

/// @throws FormatError  if `line` is no header; InvalidArgument  if it is of another version.
Json read_header(Json line, const fs::path& path) {
  const Json schema = line.is_object() ? line.value("journal", Json()) : Json();
  if (!schema.is_string()) throw FormatError("{} line 1: is not a header", in_quotes(path));
  if (schema == kJournalSchema) return line;
  throw InvalidArgument(
      "{}: is a journal of schema '{}', this build resumes '{}'; resume with the version that "
      "started it, or remove the file to start over",
      in_quotes(path), printable(schema.get<std::string>()), kJournalSchema);
}

void read_line(std::string_view text, const std::string& where, const fs::path& path,
               JournalLines& lines) {
  Json line = parse_json(text, where);
  if (lines.header.is_null()) {
    lines.header = read_header(std::move(line), path);
  } else if (line.is_object() && line.value("damaged", Json()).is_object()) {
    lines.damaged.update(line["damaged"]);
  } else {
    auto [unit, result] = read_unit(line, where);
    lines.units.insert_or_assign(std::move(unit), std::move(result));
  }
}

/// Refuses a journal of another schema by its name, since its lines may be of another form.
void check_schema(std::string_view content, const fs::path& path) {
  const std::string_view line = content.substr(0, content.find_first_of("\t\n"));
  const Json header = Json::parse(line, nullptr, false);
  const bool is_complete = content.find('\n') != content.npos;
  if (!is_complete || !header.is_object()) return;
  if (header.value("journal", Json()).is_string()) read_header(header, path);
}

/// Reads a journal.
JournalLines read_lines(const fs::path& path) {
  const std::string content = read_whole(path);
  check_schema(content, path);
  JournalLines lines;
  read_checked_lines(path, content,
                     [&](std::string_view text, const std::string& where, std::size_t end) {
                       read_line(text, where, path, lines);
                       lines.end = end;
                     });
  return lines;
}

}  // namespace

fs::path journal_path(const fs::path& output) { return output.string() + ".part"; }

std::vector<fs::path> journals_at(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string name = path.filename().string();
  std::vector<fs::path> journals;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string found = entry.path().filename().string();
    const bool is_shared = found.starts_with(name + ".") && found.find("-of-") != found.npos;
    if (found == name || is_shared) journals.push_back(path.parent_path() / found);
  }
  std::ranges::sort(journals);
  return journals;
}

Journal::Journal(const fs::path& path, bool resume, const WorkShare& share)
    : base_(path), path_(path), share_(share) {
  if (!share.is_whole()) path_ += fmt::format(".{}-of-{}", share.index, share.count);
  const std::vector<fs::path> earlier = journals_at(path);
  if (resume || earlier.empty()) return;
  throw InvalidArgument(
      "{}: contains the finished part of an interrupted run; resume it with --resume, or remove "
      "the file",
      in_quotes(earlier.front()));
}

FinishedUnits Journal::open(const Json& header, const Json& identities) {
  header_ = dump_json(header);
  identities_ = identities;
  if (!keeps()) return {};
  std::error_code ignored;
  const bool exists = fs::exists(path_, ignored);
  if (exists) create();
  std::size_t end = 0;
  FinishedUnits finished = read(end);
  if (!exists) return finished;
  file_->cut(end);
  if (end == 0) file_->append({&header_, 1});
  return finished;
}

FinishedUnits Journal::finished() const {
  std::size_t own_end = 0;
  return read(own_end);
}

FinishedUnits Journal::read(std::size_t& own_end) const {
  std::vector<std::pair<fs::path, JournalLines>> journals;
  Json same = Json::object();
  for (const fs::path& path : journals_at(base_)) {
    journals.emplace_back(path, read_lines(path));
    const JournalLines& lines = journals.back().second;
    if (path == path_) own_end = lines.end;
    for (const auto& [label, identity] : lines.damaged.items()) {
      if (identities_.value(label, Json()) == identity) same[label] = identity;
    }
  }
  FinishedUnits finished;
  for (auto& [path, lines] : journals) {
    if (!lines.header.is_null()) check_header(path, std::move(lines.header), header_, same);
    finished.merge(lines.units);
  }
  return finished;
}

bool Journal::note_damage() {
  if (!keeps() || (!file_ && share_.is_whole())) return false;
  append(dump_json({{"damaged", identities_}}));
  return true;
}

void Journal::add(const ResultRow& key, const UnitResult& result) {
  if (!keeps()) return;
  append(dump_json({{"unit", row_to_json(key)}, {"result", unit_result_to_json(result)}}));
}

void Journal::remove() {
  file_.reset();
  std::error_code ignored;
  if (keeps()) fs::remove(path_, ignored);
}

void Journal::remove_all() {
  remove();
  if (!keeps()) return;
  std::error_code ignored;
  for (const fs::path& journal : journals_at(base_)) fs::remove(journal, ignored);
}

void Journal::create() {
  file_ = std::make_unique<CheckedLinesWriter>(path_);
  if (::flock(file_->descriptor(), LOCK_EX | LOCK_NB) == 0) return;
  const bool taken = errno == EWOULDBLOCK;
  if (taken) throw InvalidArgument("{}: another process is writing this file", in_quotes(path_));
  // Some network file systems have no locks; then the user is trusted.
}

void Journal::append(const std::string& line) {
  if (!file_) {
    create();
    file_->append({&header_, 1});
  }
  file_->append({&line, 1});
}

}  // namespace lime

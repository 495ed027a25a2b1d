// SPDX-License-Identifier: Apache-2.0
#include "analysis/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/atomic_file.h"
#include "core/errors.h"
#include "store/results_file.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw IoError("{}: cannot be {}: {}", quoted(path), what, describe_errno(errno));
}

/// Nothing where the file is gone: another process has finished the results.
std::string read_whole(const fs::path& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file && !fs::exists(path, ignored)) return "";
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail(path, "read");
  return text.str();
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// first_difference() of entries called `name`.
std::string difference_in(const Json& before, const Json& now, const std::string& name) {
  if (before == now) return "";
  const auto entry = [](const Json& value, const std::string& key) {
    const auto found = value.find(key);
    return found == value.end() ? Json() : *found;
  };
  if (before.is_object() && now.is_object()) {
    Json keys = before;
    keys.update(now);
    for (const auto& item : keys.items()) {
      const std::string inner = name.empty() ? item.key() : name + "." + item.key();
      const std::string found =
          difference_in(entry(before, item.key()), entry(now, item.key()), inner);
      if (!found.empty()) return found;
    }
  }
  return fmt::format("{} was {} and is {}", name, dump(before), dump(now));
}

void check_header(const fs::path& path, const Json& line, const std::string& header) {
  const std::string difference = first_difference(line, parse_json(header, "header"));
  if (difference.empty()) return;
  throw InvalidArgument("{}: was begun otherwise, {}; run it as it was begun, or remove the file",
                        quoted(path), difference);
}

/// A finished unit: the text of its key, and its result. @throws FormatError
std::pair<std::string, UnitResult> read_unit(const Json& line, const std::string& where) {
  try {
    return {dump(line.at("unit")), unit_result_from_json(line.at("result"))};
  } catch (const nlohmann::json::exception&) {
    throw FormatError("{}: is not a finished unit", where);
  }
}

/// Adds the units of a journal to `finished`. A last line that is damaged counts as one that was
/// cut short: its unit is computed again. @return where the last line that is kept ends
std::size_t read_units(const fs::path& path, const std::string& header,
                       std::map<std::string, UnitResult>& finished) {
  const std::string text = read_whole(path);
  std::size_t begin = 0;
  std::size_t number = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string where = fmt::format("{}: line {}", quoted(path), ++number);
    try {
      const Json line = parse_json(text.substr(begin, end - begin), where);
      if (number == 1) {
        check_header(path, line, header);
      } else {
        auto [unit, result] = read_unit(line, where);
        finished[std::move(unit)] = std::move(result);
      }
    } catch (const FormatError& error) {
      const bool is_last = text.find('\n', end + 1) == std::string::npos;
      if (is_last && number > 1) return begin;
      throw FormatError("{}; remove the file to begin anew", error.what());
    }
  }
  return begin;
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
  std::sort(journals.begin(), journals.end());
  return journals;
}

std::string first_difference(const Json& before, const Json& now) {
  return difference_in(before, now, "");
}

Json unit_result_to_json(const UnitResult& result) {
  Json value = Json::object();
  value["rows"] = result.rows;
  value["samples"] = Json::array();
  for (const Samples& samples : result.samples) {
    value["samples"].push_back({{"key", samples.key},
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
  result.rows = value.at("rows").get<std::vector<Json>>();
  for (const Json& samples : value.at("samples")) {
    result.samples.push_back({samples.at("key"), samples.at("quantity"), samples.at("items"),
                              samples.at("identity"),
                              samples.at("values").get<std::vector<double>>()});
  }
  for (const Json& entry : value.at("matrices")) {
    const auto values = entry.at("values").get<std::vector<double>>();
    const auto rows = entry.at("rows").get<std::int64_t>();
    const auto columns = entry.at("columns").get<std::int64_t>();
    const bool fits = rows >= 0 && columns >= 0 &&
                      static_cast<double>(rows) * static_cast<double>(columns) ==
                          static_cast<double>(values.size());
    if (!fits) {
      throw FormatError("journal: {} x {} numbers must be there, got {}", rows, columns,
                        values.size());
    }
    NamedMatrix matrix{entry.at("name"), MatrixD(rows, columns)};
    std::copy(values.begin(), values.end(), matrix.values.data());
    result.matrices.push_back(std::move(matrix));
  }
  return result;
}

Journal::Journal(const fs::path& path, bool resume, const WorkShare& share)
    : base_(path), path_(path), share_(share) {
  if (!share.is_whole()) path_ += fmt::format(".{}-of-{}", share.index, share.count);
  const std::vector<fs::path> earlier = journals_at(path);
  if (resume || earlier.empty()) return;
  throw InvalidArgument(
      "{}: holds the finished part of an interrupted run; go on from there with --resume, or "
      "remove the file",
      quoted(earlier.front()));
}

Journal::~Journal() { close(); }

Journal::Journal(Journal&& other) noexcept
    : base_(std::move(other.base_)),
      path_(std::move(other.path_)),
      share_(other.share_),
      header_(std::move(other.header_)),
      file_(std::exchange(other.file_, -1)) {}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(path_, other.path_);
  std::swap(share_, other.share_);
  std::swap(header_, other.header_);
  std::swap(file_, other.file_);
  return *this;
}

std::map<std::string, UnitResult> Journal::open(const Json& header) {
  header_ = dump(header);
  if (!keeps()) return {};
  std::map<std::string, UnitResult> finished = read_others();
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) return finished;
  create();
  const std::size_t end = read_units(path_, header_, finished);
  if (::ftruncate(file_, static_cast<off_t>(end)) != 0) fail(path_, "cut");
  if (end == 0) write_line(header_);
  return finished;
}

std::map<std::string, UnitResult> Journal::read_others() const {
  std::map<std::string, UnitResult> finished;
  for (const fs::path& journal : journals_at(base_)) {
    if (journal != path_) read_units(journal, header_, finished);
  }
  return finished;
}

void Journal::add(const Json& key, const UnitResult& result) {
  if (!keeps()) return;
  if (file_ < 0) {
    create();
    write_line(header_);
  }
  write_line(dump({{"unit", key}, {"result", unit_result_to_json(result)}}));
}

void Journal::remove() {
  close();
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
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail(path_, "written");
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const bool taken = errno == EWOULDBLOCK;
  if (taken) throw InvalidArgument("{}: another process is writing it", quoted(path_));
  // Some network file systems have no locks; then the user is trusted.
}

void Journal::write_line(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(path_, "written");
    done += static_cast<std::size_t>(count);
  }
  if (::fdatasync(file_) != 0 && errno != EINVAL) fail(path_, "written");
}

void Journal::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "train/train_log.h"

#include <cerrno>
#include <sstream>
#include <string>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/mapped_file.h"

namespace lime {
namespace {

/// Returns true if the line is complete and belongs to the steps up to `step`.
bool is_kept(const std::string& line, std::int64_t step) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto found = json.find("step");
  return found == json.end() || (found->is_number_integer() && found->get<std::int64_t>() <= step);
}

/// Returns the lines of an existing log, else an empty string.
std::string old_lines(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  return std::string(MappedFile(path).text());
}

}  // namespace

TrainLog::TrainLog(const std::filesystem::path& path)
    : path_(path), stream_(path, std::ios::binary | std::ios::app) {
  if (!stream_) {
    throw IoError("'{}': cannot be written: {}", path.string(), describe_errno(errno));
  }
}

TrainLog TrainLog::create(const std::filesystem::path& path) {
  write_file_atomically(path, std::string_view());
  return TrainLog(path);
}

TrainLog TrainLog::resume(const std::filesystem::path& path, std::int64_t step) {
  std::istringstream old(old_lines(path));
  std::string kept;
  for (std::string line; std::getline(old, line);) {
    if (is_kept(line, step)) kept += line + "\n";
  }
  write_file_atomically(path, kept);
  return TrainLog(path);
}

bool TrainLog::holds(std::string_view event, std::int64_t step) const {
  std::ifstream lines(path_, std::ios::binary);
  if (!lines) throw IoError("'{}': cannot be read: {}", path_.string(), describe_errno(errno));
  for (std::string text; std::getline(lines, text);) {
    const Json line = parse_json(text, path_.string());
    if (line.value("event", "") == event && line.value("step", std::int64_t{-1}) == step) {
      return true;
    }
  }
  return false;
}

void TrainLog::write(const Json& line) {
  errno = 0;
  stream_ << line.dump() << '\n' << std::flush;
  if (!stream_) {
    throw IoError("'{}': cannot be written: {}", path_.string(),
                  describe_errno(errno != 0 ? errno : EIO));
  }
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <algorithm>
#include <string>

#include "core/errors.h"
#include "core/mapped_file.h"

namespace lime {
namespace {

constexpr int kMaxDepth = 512;

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column =
      line_start == std::string_view::npos ? before.size() : before.size() - line_start - 1;
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

}  // namespace

Json read_json_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_json(file.text(), "'" + path.string() + "'");
}

Json parse_json(std::string_view text, std::string_view where, const JsonFilter& keep) {
  const auto limit_depth = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxDepth) {
      throw FormatError("{}: JSON nests deeper than {} levels", where, kMaxDepth);
    }
    return !keep || keep(depth, event, value);
  };
  try {
    return Json::parse(text.begin(), text.end(), limit_depth);
  } catch (const nlohmann::json::parse_error& error) {
    if (text.empty()) throw FormatError("{}: is empty, expected JSON", where);
    const bool cut_short = error.byte >= text.size();
    throw FormatError("{}: is not valid JSON at {}{}", where, line_and_column(text, error.byte),
                      cut_short ? "; the file seems to be cut short" : "");
  } catch (const nlohmann::json::exception& error) {
    throw FormatError("{}: is not usable JSON: {}", where, error.what());
  }
}

}  // namespace lime

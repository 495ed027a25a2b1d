// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace lime {

/// Keeps the order in which keys were added, so that files read as they were meant.
using Json = nlohmann::ordered_json;

/// Parses the JSON file at `path`.
/// @throws IoError, FormatError  if it is not JSON; names the path, line and column.
Json read_json_file(const std::filesystem::path& path);

/// Called for each part of a text while it is parsed; a part is omitted if it returns false.
using JsonFilter = Json::parser_callback_t;

/// Parses `text`; `where` names its origin in errors. Nesting is limited to 512 levels.
/// @throws FormatError  and what `keep` throws.
Json parse_json(std::string_view text, std::string_view where, const JsonFilter& keep = {});

/// Returns the text of `value`. Bytes that are not UTF-8 become U+FFFD.
/// @param indent  spaces per level; -1: one line
inline std::string dump_json(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Describes one difference of two JSON values.
struct JsonDifference {
  std::string path;            ///< keys down to it: "options.layers"; empty for the whole values
  std::optional<Json> before;  ///< no value where the key is absent
  std::optional<Json> now;
};

/// Selects whether objects with equal entries in a different order are equal.
enum class KeyOrder { kIgnored, kCounts };

/// Returns the first difference, if any: entries of `before` in order, then those that only `now`
/// has. A list counts as one value. For objects that differ only in key order, it contains the
/// keys.
std::optional<JsonDifference> first_difference(const Json& before, const Json& now,
                                               KeyOrder order = KeyOrder::kIgnored);

/// Returns "options.layers was 'all', now '0-3'", "options.quick is new, true" or "options.quick
/// was true, now absent". Values are cut to 60 bytes if the cut ones still differ.
std::string to_text(const JsonDifference& difference);

}  // namespace lime

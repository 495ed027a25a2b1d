// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace lime {

/// Keeps the order in which keys were added, so that files read as they were meant.
using Json = nlohmann::ordered_json;

/// Parses the JSON file at `path`.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it is not JSON; names the path, line and column.
Json read_json_file(const std::filesystem::path& path);

/// Called for each part of a text while it is parsed; a part is omitted if it returns false.
using JsonFilter = Json::parser_callback_t;

/// Parses `text`; `where` names its origin in errors. Nesting is limited to 512 levels.
/// @throws FormatError  and what `keep` throws.
Json parse_json(std::string_view text, std::string_view where, const JsonFilter& keep = {});

}  // namespace lime

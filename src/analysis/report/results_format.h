// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/options.h"

namespace lime {

enum class ResultsFormat { kTable, kCsv, kJson, kLatex };

constexpr auto names_of(ResultsFormat) {
  using enum ResultsFormat;
  return enum_table<ResultsFormat>(
      {{kTable, "table"}, {kCsv, "csv"}, {kJson, "json"}, {kLatex, "latex"}});
}

/// Returns the format of a file from its extension; nothing if no format has it.
std::optional<ResultsFormat> format_of_name(const std::filesystem::path& path);
/// Returns the extensions of all formats: ".json", ".csv", ...
std::vector<std::string> format_extensions();

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/core.

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace lime {

/// Returns the number after `key` in a file with lines as in /proc; without a key, that of the
/// first line. No value if there is none, or a word such as "max".
inline std::optional<std::int64_t> number_in_file(const std::filesystem::path& path,
                                                  std::string_view key = "") {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    std::int64_t value = 0;
    if (digits == std::string::npos) return std::nullopt;
    const auto read = std::from_chars(line.data() + digits, line.data() + line.size(), value);
    return read.ec == std::errc() ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lime

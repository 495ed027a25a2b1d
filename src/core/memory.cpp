// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Returns the number after `key`, or in the first line, of a file such as /proc/meminfo.
std::optional<std::int64_t> number_in_file(const std::filesystem::path& path,
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

/// Version 1 writes a number near 2^63 where there is no limit.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

/// Names of the same quantities in the two versions of the interface.
struct Names {
  const char* limit;
  const char* used;
  const char* inactive_pages;  ///< of files; in memory.stat, as the next
  const char* active_pages;
};
constexpr Names kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file ", "total_active_file "};
constexpr Names kVersion2 = {"memory.max", "memory.current", "inactive_file ", "active_file "};

std::optional<std::int64_t> left_in_group(const fs::path& group, const Names& names) {
  const std::optional<std::int64_t> limit = number_in_file(group / names.limit);
  const std::optional<std::int64_t> used = number_in_file(group / names.used);
  if (!limit || !used || *limit >= kNoLimit) return std::nullopt;
  const fs::path counters = group / "memory.stat";
  const std::int64_t pages = number_in_file(counters, names.inactive_pages).value_or(0) +
                             number_in_file(counters, names.active_pages).value_or(0);
  // The kernel updates its counters one after the other: `pages` may exceed `used`.
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *used - pages));
}

/// Returns the process's groups, "/a/b", in the memory hierarchies of version 1 and 2.
std::pair<std::optional<std::string>, std::optional<std::string>> read_membership(
    const fs::path& path) {
  std::pair<std::optional<std::string>, std::optional<std::string>> groups;
  std::ifstream file(path);
  // "4:memory:/a/b", or "0::/a/b" in version 2.
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers.find(",memory,") != controllers.npos) groups.first = group;
    if (controllers == ",,") groups.second = group;
  }
  return groups;
}

constexpr std::string_view kPrefixes = "KMGT";

/// "GiB", "gi" and "G" are the same unit, "GB" is another.
std::optional<double> unit_of(std::string_view text) {
  if (text.ends_with(' ')) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::string unit;
  for (const char letter : text) {
    unit += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  if (unit.empty() || unit == "B") return 1.0;
  const std::size_t prefix = kPrefixes.find(unit.front());
  unit.erase(0, 1);
  const bool is_unit = unit.empty() || unit == "I" || unit == "B" || unit == "IB";
  if (prefix == kPrefixes.npos || !is_unit) return std::nullopt;
  return std::pow(unit == "B" ? 1000.0 : 1024.0, prefix + 1);
}

}  // namespace

std::optional<std::int64_t> left_in_control_groups(const fs::path& membership,
                                                   const fs::path& groups) {
  std::optional<std::int64_t> least;
  const auto walk_up = [&](const fs::path& root, const std::string& group, const Names& names) {
    // In a container the root is its own group, and the path below it may name nothing.
    fs::path below = fs::path(group).relative_path();
    for (;; below = below.parent_path()) {
      const std::optional<std::int64_t> left = left_in_group(root / below, names);
      if (left) least = std::min(least.value_or(*left), *left);
      if (below.empty()) return;
    }
  };
  const auto [version1, version2] = read_membership(membership);
  if (version1) walk_up(groups / "memory", *version1, kVersion1);
  if (version2) walk_up(groups, *version2, kVersion2);
  return least;
}

ByteSize ByteSize::parse(const std::string& text, const std::string& option) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const std::optional<double> unit =
      unit_of({result.ptr, static_cast<std::size_t>(end - result.ptr)});
  const double bytes = number * unit.value_or(0.0);
  throw_if(result.ec != std::errc() || !unit || !(bytes >= 1.0) || bytes > 9e18, OptionName(option),
           "expected a size such as 2GB or 512MiB, got '{}'", text);
  return {static_cast<std::int64_t>(bytes)};
}

std::string ByteSize::to_string() const {
  for (std::size_t prefix = kPrefixes.size(); prefix-- > 0;) {
    for (const auto& [base, suffix] : {std::pair(1000, "B"), std::pair(1024, "")}) {
      const std::int64_t size = std::llround(std::pow(base, prefix + 1));
      if (bytes % size == 0) return fmt::format("{}{}{}", bytes / size, kPrefixes[prefix], suffix);
    }
  }
  return std::to_string(bytes);
}

std::int64_t resident_memory() {
  return number_in_file("/proc/self/status", "VmRSS:").value_or(0) * 1024;
}

std::int64_t peak_resident_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

std::int64_t available_memory() {
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  const std::optional<std::int64_t> kibibytes = number_in_file("/proc/meminfo", "MemAvailable:");
  const std::int64_t of_machine = kibibytes ? *kibibytes * 1024 : kUnknown;
  return std::min(of_machine, left_in_control_groups().value_or(kUnknown));
}

}  // namespace lime

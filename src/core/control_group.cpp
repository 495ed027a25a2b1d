// SPDX-License-Identifier: Apache-2.0
#include "core/control_group.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/files/proc_file.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

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
  // The kernel brings its counters up to date one after the other: there may be more pages of files
  // than is in use.
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *used - pages));
}

/// Returns the group of this process in the memory hierarchy of version 1 and in that of version 2,
/// as "/a/b"; no value if it is in none.
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

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lime {

/// Returns the bytes of memory that the control groups of this process leave it, by the strictest
/// limit of its group and its ancestors; no value if none sets a limit. Pages of files count as
/// free: the kernel
/// drops them when memory runs short. Reads version 1 and 2 of the kernel's interface
/// (docs.kernel.org/admin-guide/cgroup-v1/memory.html, .../cgroup-v2.html).
/// @param membership  which groups the process is in, as in /proc/self/cgroup.
/// @param groups  the folder where the groups are mounted.
std::optional<std::int64_t> left_in_control_groups(
    const std::filesystem::path& membership = "/proc/self/cgroup",
    const std::filesystem::path& groups = "/sys/fs/cgroup");

}  // namespace lime

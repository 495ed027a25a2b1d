// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/options.h"

namespace lime {

/// Returns the bytes that the control groups of this process leave it, by the strictest limit of
/// its group and its ancestors, if there is one. Pages of files count as free. Reads version 1 and
/// 2 of the kernel's interface (docs.kernel.org/admin-guide/cgroup-v1/memory.html,
/// .../cgroup-v2.html).
/// @param membership  as /proc/self/cgroup.
/// @param groups  the folder where the groups are mounted.
std::optional<std::int64_t> left_in_control_groups(
    const std::filesystem::path& membership = "/proc/self/cgroup",
    const std::filesystem::path& groups = "/sys/fs/cgroup");

/// Stores an amount of memory, as in `--memory-limit`.
struct ByteSize {
  std::int64_t bytes = 0;

  /// Parses "2GB" (10^9), "2GiB" or "2G" (2^30), with or without a space, a fraction or the B; from
  /// byte to tera. @throws InvalidArgument  about `option` if `text` is not such a size above 0.
  static ByteSize parse(const std::string& text, const std::string& option = "size");
  /// Returns the shortest text that parse() reads back.
  std::string to_string() const;

  friend bool operator==(const ByteSize&, const ByteSize&) = default;
};

template <> struct OptionCodec<ByteSize> {
  static std::string type() { return "SIZE"; }
  static ByteSize parse(const std::string& text, const std::string& name) {
    return ByteSize::parse(text, name);
  }
  static Json to_json(const ByteSize& value) { return value.to_string(); }
};

/// Returns the resident memory of this process in bytes, including program and library code.
std::int64_t resident_memory();
/// Returns the peak resident memory of this process in bytes.
std::int64_t peak_resident_memory();
/// Returns the free memory of the machine in bytes, or less if a control group limits it.
std::int64_t available_memory();

}  // namespace lime

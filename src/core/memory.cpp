// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/control_group.h"
#include "core/errors.h"
#include "core/files/proc_file.h"

namespace lime {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 13> kUnits = {{
    {"", 1.0},
    {"K", 1024.0},
    {"KI", 1024.0},
    {"KB", 1e3},
    {"M", 1048576.0},
    {"MI", 1048576.0},
    {"MB", 1e6},
    {"G", 1073741824.0},
    {"GI", 1073741824.0},
    {"GB", 1e9},
    {"T", 1099511627776.0},
    {"TI", 1099511627776.0},
    {"TB", 1e12},
}};

/// "GiB" and "gi" are the same unit, "GB" is another.
std::optional<double> unit_of(std::string_view text) {
  if (text.ends_with(' ')) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::string unit;
  for (const char letter : text) {
    unit += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  if (unit == "B" || unit.ends_with("IB")) unit.pop_back();
  for (const auto& [name, bytes] : kUnits) {
    if (unit == name) return bytes;
  }
  return std::nullopt;
}

}  // namespace

ByteSize ByteSize::parse(const std::string& text, const std::string& where) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const std::optional<double> unit =
      unit_of({result.ptr, static_cast<std::size_t>(end - result.ptr)});
  const double bytes = number * unit.value_or(0.0);
  if (result.ec != std::errc() || !unit || !(bytes >= 1.0) || bytes > 9e18) {
    throw InvalidArgument("{}: expected a size such as 2GB or 512MiB, got '{}'", where, text);
  }
  return {static_cast<std::int64_t>(bytes)};
}

std::string ByteSize::to_string() const {
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    const auto& [name, factor] = *unit;
    const auto size = static_cast<std::int64_t>(factor);
    if (name.ends_with('I') || bytes % size != 0) continue;
    return fmt::format("{}{}", bytes / size, name);
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

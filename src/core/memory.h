// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/options.h"

namespace lime {

/// An amount of memory, as `--memory-limit` takes it.
struct ByteSize {
  std::int64_t bytes = 0;

  /// "2GB" (10^9), "2GiB" or "2G" (2^30), with or without a space, a fraction or the B; from byte
  /// to tera. @throws InvalidArgument  if `text` is not such a size above 0; `where` names it.
  static ByteSize parse(const std::string& text, const std::string& where = "size");
  /// The shortest text that parse() reads back.
  std::string to_string() const;

  friend bool operator==(const ByteSize&, const ByteSize&) = default;
};

template <>
struct OptionCodec<ByteSize> {
  static std::string type() { return "SIZE"; }
  static ByteSize parse(const std::string& text, const std::string& name) {
    return ByteSize::parse(text, name);
  }
  static Json to_json(const ByteSize& value) { return value.to_string(); }
};

/// Bytes of memory that this process holds now, the programs and libraries in it included.
std::int64_t resident_memory();
/// The most that it ever held.
std::int64_t peak_resident_memory();
/// Bytes that it may still take: what the machine has free, or less where a control group, as
/// container and batch system set it, says so.
std::int64_t available_memory();

}  // namespace lime

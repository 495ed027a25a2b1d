// SPDX-License-Identifier: Apache-2.0
#include "fuzz/hdf5_checksums.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace lime::fuzz {
namespace {

using Bytes = std::span<std::uint8_t>;

/// Computes Bob Jenkins' lookup3, hashlittle() byte by byte (public domain), as in HDF5.
std::uint32_t lookup3(std::span<const std::uint8_t> bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  std::uint32_t b = a;
  std::uint32_t c = a;
  const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z) {
    const auto step = [](std::uint32_t& p, std::uint32_t& q, std::uint32_t& r, int shift) {
      p -= r;
      p ^= std::rotl(r, shift);
      r += q;
    };
    step(x, y, z, 4), step(y, z, x, 6), step(z, x, y, 8);
    step(x, y, z, 16), step(y, z, x, 19), step(z, x, y, 4);
  };
  const auto add = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t value = std::uint32_t{bytes[i]} << 8 * (i % 4);
      (i < 4 ? a : i < 8 ? b : c) += value;
    }
  };
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add(12);
    mix(a, b, c);
  }
  if (bytes.empty()) return c;
  add(bytes.size());
  const auto last = [](std::uint32_t& x, std::uint32_t y, int shift) {
    x ^= y;
    x -= std::rotl(y, shift);
  };
  last(c, b, 14), last(a, c, 11), last(b, a, 25), last(c, b, 16);
  last(a, c, 4), last(b, a, 14), last(c, b, 24);
  return c;
}

/// Returns the little-endian number of `size` bytes at `at`; 0 beyond the end.
std::uint64_t number(Bytes file, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  if (at > file.size() || file.size() - at < size) return 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | file[at + i];
  return value;
}

/// Writes the checksum of the `size` bytes from `at` on after them.
void seal(Bytes file, std::size_t at, std::uint64_t size) {
  if (at > file.size() || size > file.size() - at || file.size() - at - size < 4) return;
  const auto length = static_cast<std::size_t>(size);
  const std::uint32_t checksum = lookup3(file.subspan(at, length));
  std::memcpy(file.data() + at + length, &checksum, sizeof checksum);
}

void seal_object_header(Bytes file, std::size_t at) {
  const std::uint64_t flags = number(file, at + 5, 1);
  const std::size_t times = (flags & 0x20U) != 0 ? 16 : 0;
  const std::size_t phase = (flags & 0x10U) != 0 ? 4 : 0;
  const std::size_t width = std::size_t{1} << (flags & 3U);
  const std::size_t messages = 6 + times + phase + width;
  seal(file, at, messages + (number(file, at + messages - width, width) & 0xFFFFFFU));
}

/// Seals a heap whose root is a direct block; its block has a checksum if flag 2 is set.
void seal_heap(Bytes file, std::size_t at) {
  constexpr std::size_t kHeader = 142;
  const auto block = static_cast<std::size_t>(number(file, at + 132, 8));
  const std::uint64_t size = number(file, at + 112, 8);
  const std::size_t place = 13 + (static_cast<std::size_t>(number(file, at + 128, 2)) + 7) / 8;
  const bool fits = block < file.size() && size <= file.size() - block && place + 4 <= size;
  if ((number(file, at + 9, 1) & 2U) != 0 && fits) {
    const Bytes bytes = file.subspan(block, static_cast<std::size_t>(size));
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(place), 4, std::uint8_t{0});
    const std::uint32_t checksum = lookup3(bytes);
    std::memcpy(bytes.data() + place, &checksum, sizeof checksum);
  }
  seal(file, at, kHeader);
}

/// Seals a B-tree of one leaf.
void seal_tree(Bytes file, std::size_t at) {
  const auto leaf = static_cast<std::size_t>(number(file, at + 16, 8));
  seal(file, leaf, 6 + number(file, at + 10, 2) * number(file, at + 24, 2));
  seal(file, at, 34);
}

/// Seals the addresses of chunks.
void seal_fixed_array(Bytes file, std::size_t at) {
  const auto block = static_cast<std::size_t>(number(file, at + 16, 8));
  const std::uint64_t entries = std::min<std::uint64_t>(number(file, at + 8, 8), 1U << 20);
  seal(file, block, 14 + entries * number(file, at + 6, 1));
  seal(file, at, 24);
}

}  // namespace

void repair_checksums(Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("\x89HDF")) seal(file, 0, 44);
  for (std::size_t at = 0; at + 4 <= file.size(); ++at) {
    const std::string_view name = text.substr(at, 4);
    if (name == "OHDR") seal_object_header(file, at);
    if (name == "FRHP") seal_heap(file, at);
    if (name == "BTHD") seal_tree(file, at);
    if (name == "FAHD") seal_fixed_array(file, at);
  }
}

}  // namespace lime::fuzz

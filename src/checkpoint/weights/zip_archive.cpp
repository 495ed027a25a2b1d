// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/zip_archive.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::uint64_t kInZip64 = 0xFFFFFFFF;

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> archive, std::string_view where)
      : archive_(archive), where_(where) {}

  std::vector<ZipEntry> entries() const {
    const auto [count, begin] = directory();
    std::vector<ZipEntry> entries;
    std::uint64_t at = begin;
    for (std::uint64_t i = 0; i < count; ++i) {
      constexpr std::uint64_t kHeader = 46;
      if (number(at, 4) != 0x02014B50) refuse("lacks a file's record in its directory");
      const std::uint64_t name_size = number(at + 28, 2);
      const std::uint64_t extra_size = number(at + 30, 2);
      entries.push_back(
          entry(at, text(at + kHeader, name_size), part(at + kHeader + name_size, extra_size)));
      at += kHeader + name_size + extra_size + number(at + 32, 2);
    }
    return entries;
  }

 private:
  struct Directory {
    std::uint64_t count = 0;
    std::uint64_t begin = 0;
  };

  [[noreturn]] void refuse(std::string_view what) const {
    throw FormatError("'{}': the archive {}; the file seems to be truncated or broken", where_,
                      what);
  }

  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    if (at > archive_.size() || size > archive_.size() - at)
      refuse("refers to bytes behind its end");
    return archive_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }

  static std::uint64_t number_in(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
    }
    return value;
  }

  std::uint64_t number(std::uint64_t at, std::uint64_t width) const {
    return number_in(part(at, width));
  }

  std::string_view text(std::uint64_t at, std::uint64_t size) const {
    const auto bytes = part(at, size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Finds the record at the end of the archive, which a comment of up to 64 KiB may follow.
  Directory directory() const {
    constexpr std::uint64_t kRecord = 22;
    const std::uint64_t size = archive_.size();
    for (std::uint64_t back = kRecord; back <= std::min<std::uint64_t>(size, kRecord + 65535);
         ++back) {
      const std::uint64_t at = size - back;
      if (number(at, 4) != 0x06054B50) continue;
      const Directory found = {number(at + 10, 2), number(at + 16, 4)};
      const bool is_zip64 = found.count == 0xFFFF || found.begin == kInZip64;
      return is_zip64 ? zip64_directory(at) : found;
    }
    refuse("has no directory");
  }

  Directory zip64_directory(std::uint64_t end_record) const {
    constexpr std::uint64_t kLocator = 20;
    if (end_record < kLocator || number(end_record - kLocator, 4) != 0x07064B50) {
      refuse("has no Zip64 directory");
    }
    const std::uint64_t at = number(end_record - kLocator + 8, 8);
    if (at > archive_.size() || number(at, 4) != 0x06064B50) refuse("has no Zip64 directory");
    return {number(at + 32, 8), number(at + 48, 8)};
  }

  /// Replaces the sizes and the offset that the 32-bit fields cannot contain.
  void read_zip64(std::span<const std::byte> extra, std::span<std::uint64_t* const> fields) const {
    while (extra.size() >= 4) {
      const std::uint64_t id = number_in(extra.first(2));
      const std::uint64_t size = number_in(extra.subspan(2, 2));
      extra = extra.subspan(4);
      if (size > extra.size()) refuse("has a broken extra field");
      auto values = extra.first(static_cast<std::size_t>(size));
      extra = extra.subspan(static_cast<std::size_t>(size));
      if (id != 1) continue;
      for (std::uint64_t* const field : fields) {
        if (*field != kInZip64) continue;
        if (values.size() < 8) refuse("has a broken Zip64 field");
        *field = number_in(values.first(8));
        values = values.subspan(8);
      }
    }
  }

  ZipEntry entry(std::uint64_t record, std::string_view name,
                 std::span<const std::byte> extra) const {
    std::uint64_t stored = number(record + 20, 4);
    std::uint64_t size = number(record + 24, 4);
    std::uint64_t local = number(record + 42, 4);
    std::uint64_t* const fields[] = {&size, &stored, &local};
    read_zip64(extra, fields);
    const bool is_encrypted = (number(record + 8, 2) & 1U) != 0;
    if (is_encrypted || number(record + 10, 2) != 0 || stored != size) {
      throw FormatError(
          "'{}': '{}' in the archive must be stored, got it {}; write it with "
          "torch.save",
          where_, printable(name, 120), is_encrypted ? "encrypted" : "compressed");
    }
    constexpr std::uint64_t kLocalHeader = 30;
    if (local > archive_.size() || number(local, 4) != 0x04034B50) {
      refuse("lacks a file that its directory names");
    }
    const std::uint64_t begin =
        local + kLocalHeader + number(local + 26, 2) + number(local + 28, 2);
    return {name, part(begin, size)};
  }

  std::span<const std::byte> archive_;
  std::string_view where_;
};

}  // namespace

std::vector<ZipEntry> parse_zip(std::span<const std::byte> archive, std::string_view where) {
  return ZipReader(archive, where).entries();
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace lime {

/// Maps a file read-only into memory; pages are read when first touched.
/// Movable, not copyable; views into it end with it. Reading is thread-safe.
class MappedFile {
 public:
  /// @throws IoError  as InputFile.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::size_t size() const { return size_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Evicts the full pages inside `bytes`, a part of a mapped file, from this process's resident
/// memory. They are read again when touched, so a large file read in parts never needs to be fully
/// resident.
void release_pages(std::span<const std::byte> bytes);

}  // namespace lime

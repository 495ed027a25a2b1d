// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace lime {

/// Reads a regular file.
///
/// All code that reads a user's file opens it here or as a MappedFile. A FIFO, a device or a socket
/// is refused at once, whereas the system's open() would wait for a writer. Not thread-safe.
class InputFile {
 public:
  /// @throws IoError  if the file cannot be read, or is a folder, a FIFO or a device.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Returns the size in bytes when the file was opened.
  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Reads the next bytes; fills `buffer` except at the end of the file.
  /// @return their number. @throws IoError
  std::size_t read(std::span<char> buffer);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

/// Maps a file read-only into memory; pages are read when first touched.
/// Movable, not copyable; views into it end with it. Reading is thread-safe.
class MappedFile {
 public:
  /// @throws IoError  as InputFile.
  explicit MappedFile(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_.get(), size()}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_.get()), size()}; }
  std::size_t size() const { return data_.get_deleter().size; }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(const std::byte* data) const;
  };
  std::unique_ptr<const std::byte, Unmap> data_;
};

/// Evicts the full pages of a mapped file inside `bytes` from this process's resident memory.
void release_pages(std::span<const std::byte> bytes);

/// Receives one line, without its line end, and its number, from 1. Returns false to stop.
using TakeLine = std::function<bool(std::string_view line, std::int64_t number)>;

/// Passes the non-blank lines of a text file, which end with "\n" or "\r\n", to `take`, in order.
/// @throws IoError, FormatError  if it is not UTF-8; names the byte.
void for_each_line(const std::filesystem::path& file, const TakeLine& take);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lime {

/// A regular file that is open for reading.
///
/// Whatever reads a file that the user names opens it here or as a MappedFile: a FIFO, a device or
/// a socket is refused at once, where the system's open() waits for somebody who writes. Movable,
/// not copyable. Not thread-safe.
class InputFile {
 public:
  /// @throws IoError  if the file does not exist, cannot be read, or is none but a folder, a FIFO
  ///                  or a device.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

  /// In bytes, when the file was opened.
  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Reads the next bytes, fewer than `buffer` has only at the end of the file.
  /// @return their number. @throws IoError
  std::size_t read(std::span<char> buffer);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace lime

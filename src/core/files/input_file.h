// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lime {

/// Reads a regular file.
///
/// All code that reads a user's file opens it here or as a MappedFile. A FIFO, a device or a socket
/// is refused at once, whereas the system's open() would wait for a writer. Movable,
/// not copyable. Not thread-safe.
class InputFile {
 public:
  /// @throws IoError  if the file does not exist, cannot be read, or is none but a folder, a FIFO
  ///                  or a device.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

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

}  // namespace lime

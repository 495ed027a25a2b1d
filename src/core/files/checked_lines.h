// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace lime {

/// Appends lines with checksums to the journal of a run: TEXT, a tab, and the first 16 hexadecimal
/// digits of the text's SHA-256. Not thread-safe.
class CheckedLinesWriter {
 public:
  /// Opens the file, and creates it if there is none. @throws IoError
  explicit CheckedLinesWriter(std::filesystem::path path);
  ~CheckedLinesWriter();
  CheckedLinesWriter(const CheckedLinesWriter&) = delete;
  CheckedLinesWriter& operator=(const CheckedLinesWriter&) = delete;

  int descriptor() const { return descriptor_; }

  /// Removes everything after the first `size` bytes. @throws IoError
  void cut(std::size_t size);
  /// Appends texts without line breaks; they are on disk when it returns. @throws IoError
  void append(std::span<const std::string> texts);

 private:
  [[noreturn]] void fail(int code) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Receives the text of a line, what names it in errors, and the end of the line in the file.
/// @throws FormatError  if the text is not what it must be, which counts as damage
using TakeCheckedLine =
    std::function<void(std::string_view text, const std::string& where, std::size_t end)>;

/// Passes the lines of `content` to `take`, in order. A last line that is cut short is omitted, as
/// is a damaged last line unless it is also the first: its work is computed again.
/// @param file  where `content` was read
/// @throws FormatError  if another line does not have its checksum, or `take` refuses it.
void read_checked_lines(const std::filesystem::path& file, std::string_view content,
                        const TakeCheckedLine& take);

}  // namespace lime

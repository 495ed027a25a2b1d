// SPDX-License-Identifier: Apache-2.0
#include "core/files/checked_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/sha256.h"

namespace lime {
namespace {

constexpr std::size_t kDigits = 16;

std::string checksum_of(std::string_view text) { return sha256_of(text).substr(0, kDigits); }

/// Returns the text of a line.
std::string_view text_of_line(std::string_view line, const std::string& where) {
  constexpr std::size_t kSuffix = kDigits + 1;
  if (line.size() >= kSuffix && line[line.size() - kSuffix] == '\t') {
    const std::string_view text = line.substr(0, line.size() - kSuffix);
    if (line.ends_with(checksum_of(text))) return text;
  }
  throw FormatError("{}: does not have its checksum", where);
}

}  // namespace

CheckedLinesWriter::CheckedLinesWriter(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail(errno);
}

CheckedLinesWriter::~CheckedLinesWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void CheckedLinesWriter::fail(int code) const {
  throw IoError("'{}': cannot be written: {}", path_.string(), describe_errno(code));
}

void CheckedLinesWriter::cut(std::size_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail(errno);
}

void CheckedLinesWriter::append(std::span<const std::string> texts) {
  std::string lines;
  for (const std::string& text : texts) {
    lines += text;
    lines += '\t' + checksum_of(text) + '\n';
  }
  for (std::size_t done = 0; done < lines.size();) {
    const ssize_t count = ::write(descriptor_, lines.data() + done, lines.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count < 0 ? errno : EIO);
    done += static_cast<std::size_t>(count);
  }
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) fail(errno);
}

void read_checked_lines(const std::filesystem::path& file, std::string_view content,
                        const TakeCheckedLine& take) {
  std::size_t begin = 0;
  for (std::size_t number = 1;; ++number) {
    const std::size_t end = content.find('\n', begin);
    if (end == std::string_view::npos) return;
    const std::string where = fmt::format("'{}' line {}", file.string(), number);
    try {
      take(text_of_line(content.substr(begin, end - begin), where), where, end + 1);
    } catch (const FormatError& error) {
      const bool is_last = content.find('\n', end + 1) == std::string_view::npos;
      if (is_last && number > 1) return;
      throw FormatError("{}; remove the file to start over", error.what());
    }
    begin = end + 1;
  }
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "core/files/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  throw IoError("'{}': cannot be read: {}", path.string(), std::generic_category().message(code));
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  // The system would open the file whose name ends there; files name others, as in an index.
  throw_if<IoError>(path_.native().find('\0') != std::string::npos,
                    "'{}': a file name must not contain NUL", path_.string());
  // Without O_NONBLOCK, opening a FIFO would block until a writer opens it.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int code = errno;
  struct stat status {};
  const bool is_known =
      descriptor_ >= 0 ? ::fstat(descriptor_, &status) == 0 : ::stat(path_.c_str(), &status) == 0;
  if (is_known && S_ISREG(status.st_mode) && descriptor_ >= 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    return;
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!is_known || S_ISREG(status.st_mode)) fail(path_, code);
  throw IoError("'{}': is not a regular file, expected one", path_.string());
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t InputFile::read(std::span<char> buffer) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t count = ::read(descriptor_, buffer.data() + done, buffer.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const InputFile file(path);
  if (file.size() == 0) return;
  void* const address = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED) {
    throw IoError("'{}': cannot be mapped into memory: {}", path.string(),
                  std::generic_category().message(errno));
  }
  data_ = {static_cast<const std::byte*>(address), Unmap{file.size()}};
}

void MappedFile::Unmap::operator()(const std::byte* data) const {
  ::munmap(const_cast<std::byte*>(data), size);
}

void release_pages(std::span<const std::byte> bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + bytes.size()) / page * page;
  // Only advice: where it is not taken, more memory is resident.
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

void for_each_line(const std::filesystem::path& file, const TakeLine& take) {
  const MappedFile mapped(file);
  std::string_view rest = mapped.text();
  require_utf8(file, rest);
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!take(line, number)) return;
  }
}

}  // namespace lime

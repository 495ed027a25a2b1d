// SPDX-License-Identifier: Apache-2.0
#include "core/files/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/files/atomic_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// True if the open file still has that name: its last holder may have removed it.
bool is_named(int descriptor, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// "process 4711 on 'node7' (for 'run.h5')", as its holder wrote it; several holders write nothing.
std::string holder_of(int descriptor) {
  std::array<char, 600> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string_view line(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::size_t end = line.find('\n');
  return end == std::string_view::npos ? "another process" : std::string(line.substr(0, end));
}

void write_holder(int descriptor, const fs::path& user) {
  const std::string why =
      user.empty() ? "" : fmt::format(" (for '{}')", printable(user.filename().string()));
  const std::string text = fmt::format("process {} on '{}'{}\n", ::getpid(), host_name(), why);
  [[maybe_unused]] const ssize_t count = ::pwrite(descriptor, text.data(), text.size(), 0);
}

/// Whether `text` is "I-of-N".
bool is_share(std::string_view text) {
  constexpr std::string_view kOf = "-of-";
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  };
  const std::size_t at = text.find(kOf);
  return at != text.npos && is_number(text.substr(0, at)) &&
         is_number(text.substr(at + kOf.size()));
}

/// Removes the locks of killed processes that shared the work ("run-0"), not those of "run-0.5".
void remove_locks_of_shares(const fs::path& whole) {
  constexpr std::string_view kEnding = ".lock";
  const std::string prefix = whole.stem().string() + ".";
  std::error_code ignored;
  std::vector<fs::path> locks;
  for (const auto& entry : fs::directory_iterator(whole.parent_path() / ".", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() < prefix.size() + kEnding.size()) continue;
    const std::string_view share =
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - kEnding.size());
    if (name.starts_with(prefix) && name.ends_with(kEnding) && is_share(share)) {
      locks.push_back(entry.path());
    }
  }
  for (const fs::path& lock : locks) fs::remove(lock, ignored);
}

/// Returns the descriptor of the locked file, or -1 if it cannot be locked.
int take(const fs::path& file, bool is_shared, const fs::path& output, const fs::path& user) {
  for (;;) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return -1;
    if (::flock(descriptor, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
      if (!is_named(descriptor, file)) {
        ::close(descriptor);
        continue;
      }
      if (::ftruncate(descriptor, 0) == 0 && !is_shared) write_holder(descriptor, user);
      return descriptor;
    }
    const bool is_taken = errno == EWOULDBLOCK;
    const std::string holder = is_taken ? holder_of(descriptor) : "";
    ::close(descriptor);
    if (!is_taken) {
      ::unlink(file.c_str());
      return -1;
    }
    throw InvalidArgument("'{}': {} is writing to it; wait until it is done or use another name",
                          output.string(), holder);
  }
}

}  // namespace

OutputLock::OutputLock(const fs::path& output, const WorkShare& share, const fs::path& user) {
  const fs::path folder = output.parent_path();
  const std::string name = output.filename().string();
  const auto lock = [&](const fs::path& file, bool is_shared) {
    const int descriptor = take(file, is_shared, output, user);
    return descriptor < 0 ? Lock() : Lock(new File{file, descriptor});
  };
  whole_ = lock(folder / fmt::format(".{}.lock", name), !share.is_whole());
  if (share.is_whole()) return;
  share_ = lock(folder / fmt::format(".{}.{}-of-{}.lock", name, share.index, share.count), false);
}

void OutputLock::Release::operator()(File* file) const {
  // The last of those that share it removes it.
  if (::flock(file->descriptor, LOCK_EX | LOCK_NB) == 0 && is_named(file->descriptor, file->path)) {
    remove_locks_of_shares(file->path);
    ::unlink(file->path.c_str());
  }
  ::close(file->descriptor);
  delete file;
}

}  // namespace lime

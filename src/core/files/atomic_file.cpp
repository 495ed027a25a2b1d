// SPDX-License-Identifier: Apache-2.0
#include "core/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include "core/errors.h"

namespace lime {

bool path_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void make_folder(const std::filesystem::path& folder, Parents parents) {
  std::error_code error;
  if (parents == Parents::kCreate) {
    std::filesystem::create_directories(folder, error);
  } else {
    std::filesystem::create_directory(folder, error);
  }
  if (!error) return;
  throw IoError("'{}': the folder cannot be created: {}", folder.string(),
                describe_errno(error.value()));
}

namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string temporary_prefix(const fs::path& final_path) {
  return fmt::format(".{}.part-{}-", final_path.filename().string(), host_name());
}

void sync_path(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) {
    throw IoError("'{}': cannot be opened for syncing: {}", path.string(), describe_errno(errno));
  }
  const int result = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  if (result != 0) {
    throw IoError("'{}': cannot be synced to disk: {}", path.string(), describe_errno(code));
  }
}

/// A rename would put a file in the place of a device, as root even of /dev/null.
void refuse_other_than_files(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  throw_if<IoError>(fs::is_directory(status), "'{}': is a folder, expected a file name",
                    path.string());
  // /dev/stdout is a link, which may lead to a file.
  const bool is_link_of_system =
      fs::is_symlink(path, ignored) && fs::canonical(folder_of(path), ignored) == "/dev";
  throw_if<IoError>((fs::exists(status) && !fs::is_regular_file(status)) || is_link_of_system,
                    "'{}': is a device, a FIFO or a socket, expected a file name", path.string());
}

std::function<void(std::ostream&)> writer_of(std::string_view content) {
  return [content](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  };
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::string describe_errno(int code) {
  std::string text = std::generic_category().message(code);
  if (code == ENOSPC || code == EDQUOT) return text + "; free some space or write elsewhere";
  if (code == EACCES || code == EPERM || code == EROFS) {
    return text + "; use a location that you may write to";
  }
  if (code == EFBIG) return text + "; raise the file size limit (ulimit -f)";
  return text;
}

AtomicFile::AtomicFile(fs::path final_path) : final_path_(std::move(final_path)) {
  const fs::path folder = folder_of(final_path_);
  std::error_code hidden;
  if (!fs::is_directory(folder, hidden)) {
    if (hidden == std::errc::permission_denied) {
      throw IoError("'{}': cannot be written: {}", final_path_.string(), describe_errno(EACCES));
    }
    throw IoError("'{}': the folder '{}' does not exist; create it first", final_path_.string(),
                  folder.string());
  }
  refuse_other_than_files(final_path_);
  remove_stale_temporaries(final_path_);
  temporary_ = folder / fmt::format("{}{}", temporary_prefix(final_path_), ::getpid());
  const int descriptor = ::open(temporary_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw IoError("'{}': cannot be written: {}", final_path_.string(), describe_errno(errno));
  }
  ::close(descriptor);
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  sync_path(temporary_, O_RDONLY);
  if (::rename(temporary_.c_str(), final_path_.c_str()) != 0) {
    throw IoError("'{}': cannot be renamed from '{}': {}", final_path_.string(),
                  temporary_.string(), describe_errno(errno));
  }
  committed_ = true;
  sync_path(folder_of(final_path_), O_RDONLY | O_DIRECTORY);
}

bool AtomicFile::commit_new() {
  sync_path(temporary_, O_RDONLY);
  if (::link(temporary_.c_str(), final_path_.c_str()) == 0) {
    sync_path(folder_of(final_path_), O_RDONLY | O_DIRECTORY);
    return true;
  }
  std::error_code ignored;
  if (errno == EEXIST || fs::exists(final_path_, ignored)) return false;
  commit();  // file systems without links
  return true;
}

void write_content(const AtomicFile& file, const std::function<void(std::ostream&)>& write) {
  std::ofstream out(file.temporary(), std::ios::binary | std::ios::trunc);
  errno = 0;
  write(out);
  out.close();
  if (out) return;
  throw IoError("'{}': cannot be written: {}", file.path().string(),
                describe_errno(errno != 0 ? errno : EIO));
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(path, writer_of(content));
}

void write_file_atomically(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  AtomicFile file(path);
  write_content(file, write);
  file.commit();
}

bool write_new_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  write_content(file, writer_of(content));
  return file.commit_new();
}

void remove_stale_temporaries(const fs::path& final_path) {
  const std::string prefix = temporary_prefix(final_path);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(final_path), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t pid = 0;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, pid);
    if (parsed.ec != std::errc() || parsed.ptr != end || pid <= 0) continue;
    if (::kill(pid, 0) == 0 || errno == EPERM) continue;
    std::error_code ignored;
    fs::remove(entry.path(), ignored);
  }
}

}  // namespace lime

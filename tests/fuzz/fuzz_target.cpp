// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>

#include "core/errors.h"

namespace lime::fuzz {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void report(const char* what, const char* detail) {
  std::fprintf(stderr, "fuzz: %s: %s\n", what, detail);
  std::abort();
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "lime-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) report("no temporary folder", pattern.c_str());
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

void reads_or_refuses(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      report("a message of several lines", error.what());
    }
  } catch (const std::exception& error) {
    report("an exception that is not ours", error.what());
  }
}

void require(bool holds, const char* what) {
  if (!holds) report("a promise is broken", what);
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

const fs::path& scratch_folder() {
  static const ScratchFolder folder;
  return folder.path();
}

fs::path scratch_file(std::string_view name, std::string_view content) {
  fs::path path = scratch_folder() / name;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, content.data(), content.size()) == std::ssize(content);
  if (file >= 0) ::close(file);
  if (!written) report("cannot write", path.c_str());
  return path;
}

std::pair<std::string_view, std::string_view> split_at_nul(std::string_view text) {
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return {text, {}};
  return {text.substr(0, nul), text.substr(nul + 1)};
}

}  // namespace lime::fuzz

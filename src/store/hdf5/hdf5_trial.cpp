// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/hdf5_trial.h"

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/program/program.h"

namespace lime {
namespace {

/// State of a file: changing the content changes its ctime.
using FileState = std::array<std::int64_t, 6>;

std::optional<FileState> state_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileState{static_cast<std::int64_t>(status.st_dev),
                   static_cast<std::int64_t>(status.st_ino),
                   status.st_size,
                   status.st_mtim.tv_sec,
                   status.st_ctim.tv_sec,
                   status.st_ctim.tv_nsec};
}

/// Starts `arguments` with SIGINT blocked: Ctrl-C in a terminal reaches the helper program as well,
/// whose end must not count as a crash. @return its process; 0 if it cannot be started.
pid_t start_helper(char* const* arguments) {
  posix_spawnattr_t attributes;
  if (::posix_spawnattr_init(&attributes) != 0) return 0;
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  ::sigaddset(&blocked, SIGINT);
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, arguments[0], nullptr, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  return failure == 0 ? child : 0;
}

/// Returns what HDF5 did to the helper program when it read the file; empty if it finished.
std::string outcome_of_trial(const std::filesystem::path& path) {
  std::string program = plugin_path("lime-trial-read");
  std::string file = path;
  char* const arguments[] = {program.data(), file.data(), nullptr};
  const pid_t child = start_helper(arguments);
  if (child == 0) return "";
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == trial::kOutOfMemory) {
    return "requests more memory than such a file needs";
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == trial::kNotListed) {
    return "cannot list its contents";
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGALRM) return "";
  return signal == SIGXCPU ? "does not terminate" : "would crash";
}

}  // namespace

void try_reading(const std::filesystem::path& path) {
  static std::mutex mutex;
  static std::map<FileState, std::string> outcomes;
  const std::optional<FileState> file = state_of(path);
  if (!file) return;
  std::unique_lock lock(mutex);
  auto found = outcomes.find(*file);
  if (found == outcomes.end()) {
    lock.unlock();
    std::string outcome = outcome_of_trial(path);
    lock.lock();
    found = outcomes.insert_or_assign(*file, std::move(outcome)).first;
  }
  if (found->second.empty()) return;
  throw FormatError("store: '{}' is damaged or malicious: HDF5 {}", path.string(), found->second);
}

}  // namespace lime

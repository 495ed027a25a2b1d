// SPDX-License-Identifier: Apache-2.0
#include "core/program/child_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "core/errors.h"

namespace lime {
namespace {

/// Starts a program with no signal blocked: run_program() blocks those that end it.
pid_t start_child(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_init(&actions);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failure =
      ::posix_spawn(&child, program.c_str(), &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  throw_if<IoError>(failure != 0, "'{}': cannot be started: {}; install all programs in one folder",
                    program, std::strerror(failure));
  return child;
}

}  // namespace

int run_child_program(const std::string& name, const std::vector<std::string>& arguments,
                      const std::stop_token& stop) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const pid_t child = start_child(self.parent_path() / name, arguments);
  const std::stop_callback on_stop(stop, [child] { ::kill(child, SIGTERM); });
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (stop.stop_requested()) throw Interrupted("{}: interrupted", name);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace lime

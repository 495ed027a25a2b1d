// SPDX-License-Identifier: Apache-2.0
#include "store/child_process.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

namespace lime::testing {
namespace {

pid_t start(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
    ::_exit(3);
  }
  ::_exit(0);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_in_child(const std::function<void()>& work) { return wait_for(start(work)); }

int run_in_children(const std::vector<std::function<void()>>& works) {
  std::vector<pid_t> children;
  for (const auto& work : works) children.push_back(start(work));
  int sum = 0;
  for (const pid_t child : children) sum += wait_for(child);
  return sum;
}

}  // namespace lime::testing

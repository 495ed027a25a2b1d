// SPDX-License-Identifier: Apache-2.0
#include "core/program/program.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/program/command_line.h"
#include "core/program/terminal.h"
#include "core/threads/threads.h"
#include "core/utf8.h"
#include "core/version.h"

namespace lime {

std::filesystem::path plugin_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "lime" / file;
}

namespace {

/// Signals that follow the first within this time count as the same one.
constexpr std::chrono::milliseconds kSameRequest{300};

std::stop_source& interrupt_source() {
  static std::stop_source source;
  return source;
}

/// Name and command line of this process, for messages and provenance.
struct Invocation {
  std::string name = "lime";
  std::string command;
};

Invocation& invocation() {
  static Invocation known;
  return known;
}

/// Waits for SIGINT and SIGTERM on a thread of its own: std::stop_source takes locks, which a
/// signal handler must not. Blocks the signals in every thread started afterwards.
void watch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const auto watch = [signals] {
    int received = 0;
    sigwait(&signals, &received);
    interrupt_source().request_stop();
    // `timeout` and job schedulers signal the process and then its group: the same request twice.
    std::this_thread::sleep_for(kSameRequest);
    const timespec now{};
    while (sigtimedwait(&signals, nullptr, &now) > 0) {
    }
    sigwait(&signals, &received);
    ::_exit(kExitInterrupted);
  };
  start_thread([&] { return std::thread(watch); }).detach();
}

/// Texts of other libraries may have more lines: LibTorch's end in a stack trace.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

int report(std::string_view program, std::string_view text, int status) {
  print_line(stderr, "{}: {}", program, text);
  return status;
}

[[noreturn]] void fail_to_print(int code) {
  throw IoError("standard output: cannot be written: {}", describe_errno(code != 0 ? code : EIO));
}

/// Lets what follows be written to nowhere.
void discard_output() {
  std::clearerr(stdout);
  if (std::freopen("/dev/null", "w", stdout) == nullptr) std::clearerr(stdout);
}

/// A disk may be full only when the last of what was printed reaches it.
int run_and_flush(CommandLine& line, int argc, const char* const* argv) {
  int status = kExitDone;
  try {
    status = line.run(argc, argv);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;
    const int code = error.code().value();
    if (code == EPIPE) throw OutputClosed("standard output: its reader is gone");
    fail_to_print(code);  // fmt::print() reports only the reason
  }
  flush_output();
  return status;
}

}  // namespace

int run_program(CommandLine& line, int argc, const char* const* argv) {
  std::string_view program = argc > 0 ? argv[0] : "lime";
  program = program.substr(program.rfind('/') + 1);
  invocation() = {std::string(program), std::string(program)};
  for (int i = 1; i < argc; ++i) invocation().command += " " + shell_word(argv[i]);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit of sizes is an error like a full disk
  try {
    watch_signals();
    return run_and_flush(line, argc, argv);
  } catch (const Interrupted& error) {
    return report(program, error.what(), kExitInterrupted);
  } catch (const OutputClosed&) {
    discard_output();
    return kExitOutputClosed;
  } catch (const std::bad_alloc&) {
    return report(
        program,
        "out of memory; reduce the request, or check whether an input file declares a wrong size",
        kExitFailed);
  } catch (const Error& error) {
    return report(program, error.what(), kExitFailed);
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string text = fmt::format("'{}': cannot be used: {}", error.path1().string(),
                                         describe_errno(error.code().value()));
    return report(program, text, kExitFailed);
  } catch (const std::exception& error) {
    return report(program, first_line(error.what()), kExitFailed);
  }
}

void print_warnings(std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    print_error(fmt::format("{}: warning: {}\n", invocation().name, escaped(text)));
  }
}

bool flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  if (errno != EPIPE) fail_to_print(errno);
  discard_output();
  return false;
}

std::stop_token interrupt_token() { return interrupt_source().get_token(); }

std::string tool_version() { return std::string("lime ") + kVersion; }

const std::string& program_command() { return invocation().command; }

std::string utc_timestamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace lime

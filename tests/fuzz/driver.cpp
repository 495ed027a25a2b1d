// SPDX-License-Identifier: Apache-2.0
// Runs a harness without libFuzzer: over files, and over random mutations of them.
//
//   lime_fuzz_NAME [--seconds S] [--seed N] FILE_OR_FOLDER...
//
// A run is a finding if it uses more than 20 s of CPU time, takes more than 120 s (tests run
// concurrently; alone none takes 5), or allocates more than 1 GiB. The process then ends, and its
// input is saved as `finding-NAME` in the current folder.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/random.h"
#include "fuzz/fuzz_target.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:max_allocation_size_mb=1024";
}
#endif

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using lime::Random;

constexpr int kMaxComputingPerRun = 20;  // CPU seconds
constexpr int kMaxSecondsPerRun = 120;
constexpr std::size_t kMaxBytes = std::size_t{1} << 16;

// Written by the signal handler.
std::string finding_name;  // NOLINT(runtime/string): lives as long as the process
const std::string* current = nullptr;

void keep_finding(int signal) {
  const int file = ::open(finding_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0 && current != nullptr) {
    [[maybe_unused]] const auto count = ::write(file, current->data(), current->size());
  }
  constexpr std::string_view kLine = "fuzz: the input was kept beside\n";
  [[maybe_unused]] const auto count = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void guard_runs() {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGPROF}) {
    std::signal(signal, keep_finding);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory = {rlim_t{1} << 30, rlim_t{1} << 30};
  ::setrlimit(RLIMIT_DATA, &memory);
#endif
}

/// Limits the following run; 0 seconds: no limit.
void set_timers(int computing, int waiting) {
  const itimerval processor = {{}, {computing, 0}};
  const itimerval wall = {{}, {waiting, 0}};
  ::setitimer(ITIMER_PROF, &processor, nullptr);
  ::setitimer(ITIMER_REAL, &wall, nullptr);
}

void run(const std::string& input) {
  current = &input;
  set_timers(kMaxComputingPerRun, kMaxSecondsPerRun);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  set_timers(0, 0);
}

std::vector<std::string> read_inputs(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// Mutates inputs slightly.
class Mutator {
 public:
  Mutator(const std::vector<std::string>& inputs, std::uint64_t seed)
      : inputs_(inputs), random_(seed) {}

  std::string next() {
    std::string input = any();
    const std::size_t changes = 1 + random_.below(4);
    for (std::size_t i = 0; i < changes; ++i) change(input);
    if (input.size() > kMaxBytes) input.resize(kMaxBytes);
    return input;
  }

 private:
  const std::string& any() { return inputs_[random_.below(inputs_.size())]; }
  std::size_t place(const std::string& input) { return random_.below(input.size() + 1); }

  void change(std::string& input) {
    switch (random_.below(6)) {
      case 0:
        if (!input.empty()) {
          const std::size_t at = random_.below(input.size());
          input[at] = static_cast<char>(input[at] ^ (1 << random_.below(8)));
        }
        break;
      case 1:
        if (!input.empty()) {
          input[random_.below(input.size())] = static_cast<char>(random_.below(256));
        }
        break;
      case 2: input.erase(place(input), 1 + random_.below(16)); break;
      case 3: {
        const std::string& other = any();
        const std::size_t from = place(other);
        input.insert(place(input), other.substr(from, 1 + random_.below(64)));
        break;
      }
      case 4: {
        const std::size_t at = place(input);
        input.replace(at, 1 + random_.below(8), striking());
        break;
      }
      default: {
        const std::string& other = any();
        input = input.substr(0, place(input)) + other.substr(place(other));
      }
    }
  }

  /// Returns numbers and characters that often break parsers.
  std::string striking() {
    constexpr std::array<std::string_view, 20> kTexts = {"-1",
                                                         "0",
                                                         "1e999",
                                                         "18446744073709551616",
                                                         "9223372036854775807",
                                                         "-0.0",
                                                         "null",
                                                         "{}",
                                                         "[]",
                                                         "\"",
                                                         "\\u0000",
                                                         "\\ud800",
                                                         ",",
                                                         "[",
                                                         "true",
                                                         "\n",
                                                         "\xFF",
                                                         "4294967296",
                                                         "(?:a*)*",
                                                         "\xE2\x96\x81"};
    if (random_.below(2) == 0) return std::string(kTexts[random_.below(kTexts.size())]);
    constexpr std::array<std::uint64_t, 8> kNumbers = {
        0, 1, 0x7F, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF};
    const std::uint64_t number = kNumbers[random_.below(kNumbers.size())];
    return {reinterpret_cast<const char*>(&number), std::size_t{1} << random_.below(4)};
  }

  const std::vector<std::string>& inputs_;
  Random random_;
};

std::uint64_t number_of(const char* text) {
  std::uint64_t value = 0;
  const std::string_view view(text);
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error == std::errc() && end == view.data() + view.size()) return value;
  std::fprintf(stderr, "fuzz: expected a number, got '%s'\n", text);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seconds = 0;
  std::uint64_t seed = 1;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = number_of(argv[++i]);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = number_of(argv[++i]);
    } else {
      paths.emplace_back(word);
    }
  }
  const std::vector<std::string> inputs = read_inputs(paths);
  if (inputs.empty()) {
    std::fprintf(stderr, "fuzz: no input; name files or folders\n");
    return 2;
  }
  finding_name = "finding-" + fs::path(argv[0]).filename().string();
  guard_runs();
  for (const std::string& input : inputs) run(input);
  std::uint64_t mutants = 0;
  Mutator mutator(inputs, seed);
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  for (; seconds > 0 && Clock::now() < end; ++mutants) run(mutator.next());
  std::printf("%zu files, %llu mutants of seed %llu\n", inputs.size(),
              static_cast<unsigned long long>(mutants), static_cast<unsigned long long>(seed));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "bench/timing.h"

namespace lime {
namespace {

/// Returns the CPU time of all threads of the process.
double cpu_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the CPU time per call of `calls` calls.
double seconds_per_call(const Contender& contender, int calls) {
  const double start = cpu_seconds();
  for (int i = 0; i < calls; ++i) contender.run();
  return (cpu_seconds() - start) / calls;
}

std::string in_milliseconds(double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); }

}  // namespace

void print_comparison_header() {
  fmt::print("| kernel | shape | ours | library routine | its time | its time / ours |\n");
  fmt::print("|---|---|---|---|---|---|\n");
}

void print_comparison(const Comparison& comparison, const TurnOptions& options) {
  std::vector<Contender> contenders = {comparison.ours};
  contenders.insert(contenders.end(), comparison.peers.begin(), comparison.peers.end());
  std::vector<int> calls;
  for (const Contender& contender : contenders) {
    contender.run();
    const double once = std::max(seconds_per_call(contender, 1), 1e-7);
    calls.push_back(static_cast<int>(std::ceil(options.min_seconds / once)));
  }
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int turn = 0; turn < options.turns; ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      seconds[i].push_back(seconds_per_call(contenders[i], calls[i]));
    }
  }
  for (std::size_t peer = 1; peer < contenders.size(); ++peer) {
    std::vector<double> ratios;
    for (std::size_t turn = 0; turn < seconds[peer].size(); ++turn) {
      ratios.push_back(seconds[peer][turn] / seconds[0][turn]);
    }
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print("| {} | {} | {} | {} | {} | {:.2f} ({:.2f} to {:.2f}) |\n", comparison.kernel,
               comparison.shape, in_milliseconds(median(seconds[0])), contenders[peer].name,
               in_milliseconds(median(seconds[peer])), median(ratios), *low, *high);
  }
  std::fflush(stdout);
}

}  // namespace lime

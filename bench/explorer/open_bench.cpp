// SPDX-License-Identifier: Apache-2.0
// Times how long the explorer takes to read the outline of a file, which runs in a separate job.
//   lime-bench-open FILE [TIMES]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "core/errors.h"
#include "explorer/models/document.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: lime-bench-open FILE [TIMES]\n");
    return 2;
  }
  const int times = argc > 2 ? std::atoi(argv[2]) : 20;
  std::vector<double> seconds;
  try {
    for (int i = 0; i < times; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const lime::explorer::Document document = lime::explorer::openDocument(argv[1]);
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      if (i > 0) continue;
      for (const lime::explorer::Fact& fact : document.outline) {
        fmt::print("{}: {}\n", fact.name.toStdString(), fact.value.toStdString());
      }
    }
  } catch (const lime::Error& error) {
    fmt::print(stderr, "lime-bench-open: {}\n", error.what());
    return 1;
  }
  fmt::print("first {:.3f} s, ", seconds.front());
  std::sort(seconds.begin(), seconds.end());
  fmt::print("median of {} {:.4f} s\n", times, seconds[seconds.size() / 2]);
  return 0;
}

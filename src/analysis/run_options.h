// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/errors.h"
#include "core/options.h"

namespace lime {

/// What every command takes: how to run, never what to compute.
struct RunOptions {
  /// Threads to compute with, >= 0; 0 takes all processors. Results do not depend on it.
  int threads = 0;
  /// Seed of every random choice.
  std::uint64_t seed = 0;

  void describe(OptionList& list) {
    list.group("Running");
    list.add("threads", threads, "threads to compute with; 0 takes all processors");
    list.add("seed", seed, "seed of every random choice");
  }
  void validate() const {
    if (threads < 0) throw InvalidArgument("threads: must be >= 0, got {}", threads);
  }
};

}  // namespace lime

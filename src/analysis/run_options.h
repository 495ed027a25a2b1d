// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/memory.h"
#include "core/options.h"
#include "core/thread_pool.h"
#include "core/threads.h"

namespace lime {

/// What every command takes: how to run, never what to compute.
struct RunOptions {
  /// Threads to compute with, in [0, kMaxThreads]; 0 takes all processors. Results do not depend on
  /// it.
  int threads = 0;
  /// Seed of every random choice.
  std::uint64_t seed = 0;
  /// Memory that the work may take; unset: what is free on the machine. Results do not depend on
  /// it.
  std::optional<ByteSize> memory_limit = std::nullopt;

  int num_threads() const { return threads > 0 ? threads : available_threads(); }

  void describe(OptionList& list) {
    list.group("Running");
    list.add("threads", threads, "threads to compute with, up to 1024; 0 takes all processors");
    list.add("memory_limit", memory_limit,
             "memory to keep within, e.g. 2GB; what is free if not given");
    list.add("seed", seed, "seed of every random choice");
  }
  void validate() const { check_threads(threads); }
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/errors.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/thread_pool.h"

namespace lime {

/// Options of every command that control execution and never the results.
struct RunOptions {
  /// Threads to compute with, >= 0; 0 uses all CPUs. Results do not depend on it.
  int threads = 0;
  /// Seed of all random numbers.
  std::uint64_t seed = 0;
  /// Memory limit; unset: the free memory. Results do not depend on it.
  std::optional<ByteSize> memory_limit = std::nullopt;

  int num_threads() const { return threads > 0 ? threads : available_threads(); }

  void describe(OptionList& list) {
    list.group("Running");
    list.add("threads", threads, "number of threads; 0: all CPUs");
    list.add("memory_limit", memory_limit, "memory limit, e.g. 2GB; default: the free memory");
    list.add("seed", seed, "seed of all random numbers");
  }
  void validate() const {
    if (threads < 0) throw InvalidArgument("threads: must be >= 0, got {}", threads);
  }
};

}  // namespace lime

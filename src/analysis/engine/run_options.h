// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/memory.h"
#include "core/options.h"
#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"

namespace lime {

struct RunOptions {
  int threads = 0;
  std::uint64_t seed = 0;
  std::optional<ByteSize> memory_limit = std::nullopt;

  int num_threads() const { return threads > 0 ? threads : available_threads(); }

  void describe(OptionList& list) {
    list.group("Running");
    list.add("threads", threads, "number of threads, up to 1024; 0: all CPUs");
    list.add("memory_limit", memory_limit, "memory limit, e.g. 2GB; default: the free memory");
    list.add("seed", seed, "seed of all random numbers");
  }
  void validate() const { check_threads(threads); }
};

}  // namespace lime

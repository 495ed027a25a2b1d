// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace lime {

/// While it lives, the tiles of forward passes on the calling thread (parallel_tiles.h) run on
/// threads that sleep when there is nothing for them.
///
/// LibTorch's threads are OpenMP's, which spin for milliseconds behind every loop. A program that
/// does nothing else does not mind, but capture writes beside the passes: the writer finds no
/// processor until the threads give up, and then the passes wait for the threads that it displaced.
/// These spin for microseconds only, and nobody waits for a thread that has not begun.
///
/// Meanwhile LibTorch's own loops on the calling thread run on that thread alone, so that OpenMP's
/// threads stay asleep. Only one thread of a process can have them; another one's object does
/// nothing, and nor does one where LibTorch has a single thread.
class PassThreads {
 public:
  /// Takes over the number of threads that LibTorch has, the calling one included.
  PassThreads();
  ~PassThreads();
  PassThreads(const PassThreads&) = delete;
  PassThreads& operator=(const PassThreads&) = delete;

  /// Those of the calling thread, or null.
  static PassThreads* current();

  /// The calling thread included.
  int num_threads() const;

  /// Calls `work` on this thread and, at the same time, on those of `num_threads - 1` others that
  /// come before this one is done; returns when all have ended. `work` must share out what there is
  /// to do. Throws what `work` threw on this thread, or else on one of the others.
  void run(int num_threads, const std::function<void()>& work);

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

/// Number of threads for the loops of parallel_tiles.h on the calling thread.
int num_tile_threads();

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "store/hdf5/chunk_filters.h"

namespace lime {

/// Compresses chunks in worker threads and returns them in the order of submission, so that the
/// file's bytes do not depend on the number of threads.
///
/// push(), finish() and the destructor must be called from one thread, on which all chunks are
/// returned: the workers never call HDF5.
class ChunkQueue {
 public:
  using Write = std::function<void(const StoredChunk&)>;

  /// @param num_threads  >= 1, in addition to the calling one.
  /// @throws IoError  if one cannot be started.
  explicit ChunkQueue(int num_threads);
  /// Drops the remaining chunks.
  ~ChunkQueue();
  ChunkQueue(const ChunkQueue&) = delete;
  ChunkQueue& operator=(const ChunkQueue&) = delete;

  /// Submits a chunk; `write` receives it compressed, now or later. If more than two chunks per
  /// thread are in flight, waits for the oldest. @throws any exception of a `write`.
  void push(std::vector<std::byte> values, std::size_t value_bytes, Write write);
  /// Passes all remaining chunks to their `write`. @throws any exception of a `write`.
  void finish();

  /// Returns the maximum memory of the chunks in flight and of the workers, in bytes.
  static std::int64_t most_bytes(int num_threads, std::int64_t chunk_bytes);

 private:
  struct Waiting {
    std::future<StoredChunk> chunk;
    Write write;
  };

  void write_oldest();
  void work();
  void release();

  std::deque<Waiting> waiting_;  // in the order of submission
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<StoredChunk()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lime

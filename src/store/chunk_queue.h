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

#include "store/chunk_filters.h"

namespace lime {

/// Compresses chunks in threads of its own and hands them back in the order in which they came, so
/// that a file has the same bytes whatever the number of threads.
///
/// push(), finish() and the destructor belong to one thread, in which all chunks are handed back:
/// the others never call HDF5.
class ChunkQueue {
 public:
  using Write = std::function<void(const StoredChunk&)>;

  /// @param num_threads  >= 1, beside the calling one. @throws IoError  if one cannot be started.
  explicit ChunkQueue(int num_threads);
  /// Drops what was not handed back.
  ~ChunkQueue();
  ChunkQueue(const ChunkQueue&) = delete;
  ChunkQueue& operator=(const ChunkQueue&) = delete;

  /// Takes a chunk, which `write` gets compressed, now or later. Waits for the oldest chunk where
  /// more than two per thread are under way. @throws what a `write` throws.
  void push(std::vector<std::byte> values, std::size_t value_bytes, Write write);
  /// Hands back all chunks. @throws what a `write` throws.
  void finish();

  /// Most memory of the chunks under way and of the threads' work, in bytes.
  static std::int64_t most_bytes(int num_threads, std::int64_t chunk_bytes);

 private:
  struct Waiting {
    std::future<StoredChunk> chunk;
    Write write;
  };

  void write_oldest();
  void work();
  void release();

  std::deque<Waiting> waiting_;  // in the order in which they came
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<StoredChunk()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lime

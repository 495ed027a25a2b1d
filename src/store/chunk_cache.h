// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace lime {

/// Keeps the chunks that were inflated last, because sequences are read one by one and many lie in
/// one chunk. Thread-safe.
class ChunkCache {
 public:
  using Chunk = std::shared_ptr<const std::vector<std::byte>>;

  /// @param max_bytes  of the chunks that are kept; a larger one is not.
  explicit ChunkCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// @param owner  whose chunk it is: of one dataset in one file.
  /// @return null if it is not kept.
  Chunk find(const void* owner, std::size_t number);
  void insert(const void* owner, std::size_t number, Chunk chunk);
  /// Drops all chunks of an owner that goes away.
  void forget(const void* owner);

 private:
  struct Entry {
    const void* owner;
    std::size_t number;
    Chunk chunk;
  };

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // last used first
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace lime {

/// Caches the most recently decompressed chunks, because sequences are read one by one and a chunk
/// contains many. Threads that need the same chunk wait for the first of them. Thread-safe.
class ChunkCache {
 public:
  using Chunk = std::shared_ptr<const std::vector<std::byte>>;

  /// @param max_bytes  total size of the cached chunks; a larger chunk is not cached.
  explicit ChunkCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Cache key; `owner` identifies one dataset in one file.
  struct Key {
    const void* owner = nullptr;
    std::size_t number = 0;
    bool operator==(const Key&) const = default;
  };
  /// Returns the cached chunk, or the result of `load`.
  /// @param size  of the chunk in bytes
  /// @throws any exception of `load`, also in threads that wait for it; nothing is cached then.
  Chunk get(const Key& key, std::size_t size, const std::function<Chunk()>& load);
  /// Removes all chunks of an owner before its destruction.
  void erase(const void* owner);

 private:
  struct Entry {
    Key key;
    std::size_t size;
    std::shared_future<Chunk> chunk;
  };

  /// Returns the entry for the key, or a new one for the pending result.
  std::shared_future<Chunk> find_or_add(const Key& key, std::size_t size,
                                        std::promise<Chunk>& coming, bool& is_new);
  template <typename IsMeant>
  void drop(const IsMeant& is_meant);

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace lime

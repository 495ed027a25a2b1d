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

/// Keeps the chunks that were inflated last, because sequences are read one by one and many lie in
/// one chunk. Threads that want the same one wait for the first of them. Thread-safe.
class ChunkCache {
 public:
  using Chunk = std::shared_ptr<const std::vector<std::byte>>;

  /// @param max_bytes  of the chunks that are kept; a larger one is not.
  explicit ChunkCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Which chunk: `owner` stands for one dataset in one file.
  struct Key {
    const void* owner = nullptr;
    std::size_t number = 0;
    bool operator==(const Key&) const = default;
  };
  /// The chunk as it is kept, or what `load` makes of it.
  /// @param size  of the chunk in bytes
  /// @throws what `load` throws, also to those who wait for it; nothing is kept then.
  Chunk get(const Key& key, std::size_t size, const std::function<Chunk()>& load);
  /// Drops all chunks of an owner that goes away.
  void forget(const void* owner);

 private:
  struct Entry {
    Key key;
    std::size_t size;
    std::shared_future<Chunk> chunk;
  };

  /// The entry of that key, or a new one for what comes.
  std::shared_future<Chunk> find_or_add(const Key& key, std::size_t size,
                                        std::promise<Chunk>& coming, bool& is_new);
  template <typename IsMeant>
  void drop(const IsMeant& is_meant);

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // last used first
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <algorithm>
#include <cstddef>
#include <exception>
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
  Chunk get(const Key& key, std::size_t size, const std::function<Chunk()>& load) {
    if (size > max_bytes_) return load();
    std::promise<Chunk> coming;
    bool is_new = false;
    const std::shared_future<Chunk> chunk = find_or_add(key, size, coming, is_new);
    if (!is_new) return chunk.get();
    try {
      coming.set_value(load());
    } catch (...) {
      drop([&](const Entry& entry) { return entry.key == key; });
      coming.set_exception(std::current_exception());
    }
    return chunk.get();
  }
  /// Removes all chunks of an owner before its destruction.
  void erase(const void* owner) {
    drop([owner](const Entry& entry) { return entry.key.owner == owner; });
  }

 private:
  struct Entry {
    Key key;
    std::size_t size;
    std::shared_future<Chunk> chunk;
  };

  /// Returns the entry for the key, or a new one for the pending result.
  std::shared_future<Chunk> find_or_add(const Key& key, std::size_t size,
                                        std::promise<Chunk>& coming, bool& is_new) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    is_new = found == entries_.end();
    if (!is_new) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().chunk;
    }
    entries_.push_front({key, size, coming.get_future().share()});
    const std::shared_future<Chunk> chunk = entries_.front().chunk;
    bytes_ += size;
    while (bytes_ > max_bytes_) {
      bytes_ -= entries_.back().size;
      entries_.pop_back();
    }
    return chunk;
  }

  template <typename IsMeant> void drop(const IsMeant& is_meant) {
    const std::scoped_lock lock(mutex_);
    entries_.remove_if([&](const Entry& entry) {
      if (!is_meant(entry)) return false;
      bytes_ -= entry.size;
      return true;
    });
  }

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace lime

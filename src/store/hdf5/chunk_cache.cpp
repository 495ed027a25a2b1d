// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/chunk_cache.h"

#include <algorithm>
#include <exception>

namespace lime {

ChunkCache::Chunk ChunkCache::get(const Key& key, std::size_t size,
                                  const std::function<Chunk()>& load) {
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

std::shared_future<ChunkCache::Chunk> ChunkCache::find_or_add(const Key& key, std::size_t size,
                                                              std::promise<Chunk>& coming,
                                                              bool& is_new) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
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

template <typename IsMeant>
void ChunkCache::drop(const IsMeant& is_meant) {
  const std::scoped_lock lock(mutex_);
  entries_.remove_if([&](const Entry& entry) {
    if (!is_meant(entry)) return false;
    bytes_ -= entry.size;
    return true;
  });
}

void ChunkCache::erase(const void* owner) {
  drop([owner](const Entry& entry) { return entry.key.owner == owner; });
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "store/chunk_cache.h"

#include <algorithm>
#include <utility>

namespace lime {

ChunkCache::Chunk ChunkCache::find(const void* owner, std::size_t number) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.owner == owner && entry.number == number;
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().chunk;
}

void ChunkCache::insert(const void* owner, std::size_t number, Chunk chunk) {
  if (chunk->size() > max_bytes_) return;
  const std::scoped_lock lock(mutex_);
  bytes_ += chunk->size();
  entries_.push_front({owner, number, std::move(chunk)});
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().chunk->size();
    entries_.pop_back();
  }
}

void ChunkCache::forget(const void* owner) {
  const std::scoped_lock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->owner != owner) {
      ++entry;
      continue;
    }
    bytes_ -= entry->chunk->size();
    entry = entries_.erase(entry);
  }
}

}  // namespace lime

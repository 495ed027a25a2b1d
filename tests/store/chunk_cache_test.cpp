// SPDX-License-Identifier: Apache-2.0
#include "store/chunk_cache.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace lime {
namespace {

ChunkCache::Chunk chunk_of(std::size_t bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes);
}

TEST(ChunkCacheTest, KeepsWhatWasUsedLast) {
  ChunkCache cache(100);
  const int owner = 0;
  const ChunkCache::Chunk first = chunk_of(40);
  cache.insert(&owner, 0, first);
  cache.insert(&owner, 1, chunk_of(40));
  EXPECT_EQ(cache.find(&owner, 0), first);
  cache.insert(&owner, 2, chunk_of(40));
  EXPECT_EQ(cache.find(&owner, 1), nullptr);
  EXPECT_EQ(cache.find(&owner, 0), first);
  EXPECT_NE(cache.find(&owner, 2), nullptr);
}

TEST(ChunkCacheTest, KeepsNothingThatIsTooLarge) {
  ChunkCache cache(100);
  const int owner = 0;
  cache.insert(&owner, 0, chunk_of(100));
  cache.insert(&owner, 1, chunk_of(101));
  EXPECT_EQ(cache.find(&owner, 1), nullptr);
  EXPECT_NE(cache.find(&owner, 0), nullptr);
}

TEST(ChunkCacheTest, ForgetsOwnersThatGoAway) {
  ChunkCache cache(100);
  const int owner = 0;
  const int other = 0;
  cache.insert(&owner, 0, chunk_of(40));
  cache.insert(&other, 0, chunk_of(60));
  cache.forget(&owner);
  EXPECT_EQ(cache.find(&owner, 0), nullptr);
  EXPECT_NE(cache.find(&other, 0), nullptr);
  cache.insert(&owner, 0, chunk_of(40));
  EXPECT_NE(cache.find(&other, 0), nullptr);
}

}  // namespace
}  // namespace lime

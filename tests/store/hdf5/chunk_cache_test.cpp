// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/chunk_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

class ChunkCacheTest : public ::testing::Test {
 protected:
  /// Returns true if the chunk was cached; caches it if it is small enough.
  bool has(const void* owner, std::size_t number, std::size_t size = 40) {
    bool is_kept = true;
    const ChunkCache::Chunk chunk = cache_.get({owner, number}, size, [&] {
      is_kept = false;
      return std::make_shared<const std::vector<std::byte>>(size);
    });
    EXPECT_EQ(chunk->size(), size);
    return is_kept;
  }

  ChunkCache cache_{100};
  const int owner_ = 0;
  const int other_ = 0;
};

TEST_F(ChunkCacheTest, KeepsWhatWasUsedLast) {
  EXPECT_FALSE(has(&owner_, 0));
  EXPECT_FALSE(has(&owner_, 1));
  EXPECT_TRUE(has(&owner_, 0));
  EXPECT_FALSE(has(&owner_, 2));
  EXPECT_TRUE(has(&owner_, 0));
  EXPECT_FALSE(has(&owner_, 1));
}

TEST_F(ChunkCacheTest, KeepsNothingThatIsTooLarge) {
  EXPECT_FALSE(has(&owner_, 0, 100));
  EXPECT_FALSE(has(&owner_, 1, 101));
  EXPECT_FALSE(has(&owner_, 1, 101));
  EXPECT_TRUE(has(&owner_, 0, 100));
}

TEST_F(ChunkCacheTest, ForgetsOwnersThatGoAway) {
  EXPECT_FALSE(has(&owner_, 0));
  EXPECT_FALSE(has(&other_, 0));
  cache_.erase(&owner_);
  EXPECT_FALSE(has(&owner_, 0));
  EXPECT_TRUE(has(&other_, 0));
}

TEST_F(ChunkCacheTest, KeepsNothingThatCouldNotBeLoaded) {
  const auto fail = []() -> ChunkCache::Chunk { throw FormatError("damaged"); };
  EXPECT_THROW(cache_.get({&owner_, 0}, 40, fail), FormatError);
  EXPECT_THROW(cache_.get({&owner_, 0}, 40, fail), FormatError);
  EXPECT_FALSE(has(&owner_, 0));
}

TEST_F(ChunkCacheTest, LoadsOnceForAllWhoWait) {
  std::atomic<int> loads = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      cache_.get({&owner_, 0}, 40, [&] {
        ++loads;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return std::make_shared<const std::vector<std::byte>>(40);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace lime

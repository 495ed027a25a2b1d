// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lime {
namespace {

TEST(RandomTest, RepeatsItsStreamForEqualSeeds) {
  Random a(42);
  Random b(42);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a(), b());
  EXPECT_NE(Random(1)(), Random(2)());
}

TEST(RandomTest, ForksDependOnSeedAndStreamOnly) {
  Random used(7);
  for (int i = 0; i < 10; ++i) used();
  EXPECT_EQ(used.fork(3)(), Random(7).fork(3)());
  EXPECT_NE(Random(7).fork(3)(), Random(7).fork(4)());
}

TEST(RandomTest, BelowStaysInRangeAndReachesEveryValue) {
  Random random(5);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 7000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(RandomTest, NormalHasMeanZeroAndVarianceOne) {
  Random random(11);
  constexpr int kCount = 100000;
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

TEST(RandomTest, ShuffleKeepsAllItems) {
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  Random(3).shuffle<int>(items);
  EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
  std::sort(items.begin(), items.end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace lime

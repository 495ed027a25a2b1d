// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/numpy_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(NumpyRandomTest, ShufflesAsRandomState42) {
  // numpy.random.RandomState(42).permutation(10)
  std::vector<int> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  NumpyRandom(42).shuffle(std::span<int>(items));
  EXPECT_THAT(items, ElementsAre(8, 1, 5, 0, 7, 2, 9, 4, 3, 6));
}

TEST(NumpyRandomTest, RefusesSeedsThatNumpyRefuses) {
  EXPECT_THAT([] { NumpyRandom random(std::uint64_t{1} << 32); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("seed: must be < 2^32 for NumPy's generator, got 4294967296")));
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/router_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::tiny_config;

TEST(RouterSourcesTest, AreTheLayersThatThePaperNames) {
  const auto sources = [](RouterKind router, std::int64_t j, std::int64_t layer) {
    return router_sources({.router = router, .j = j}, layer);
  };
  EXPECT_THAT(sources(RouterKind::kFull, 0, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sources(RouterKind::kAverage, 0, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(sources(RouterKind::kLast, 3, 1), ElementsAre(0, 1));
  EXPECT_THAT(sources(RouterKind::kLast, 3, 7), ElementsAre(5, 6, 7));
  EXPECT_THAT(sources(RouterKind::kLast, 1, 7), ElementsAre(7));
  EXPECT_THAT(sources(RouterKind::kFirst, 2, 1), ElementsAre(0, 1));
  EXPECT_THAT(sources(RouterKind::kFirst, 2, 7), ElementsAre(0, 1, 7));
  EXPECT_THAT(sources(RouterKind::kFirstAndPrevious, 2, 1), ElementsAre(0, 1));
  EXPECT_THAT(sources(RouterKind::kFirstAndPrevious, 2, 2), ElementsAre(0, 1));
  EXPECT_THAT(sources(RouterKind::kFirstAndPrevious, 2, 7), ElementsAre(0, 1, 6));
  EXPECT_THAT(sources(RouterKind::kDilated, 3, 7), ElementsAre(1, 4, 7));
  EXPECT_THAT(sources(RouterKind::kDilated, 8, 7), ElementsAre(7));
}

class FullRouterTest : public ::testing::Test {
 protected:
  /// Opens a checkpoint with random weights; 3 layers, 2 key-value heads of 6 dimensions.
  Checkpoint open(const LimeConfig& router) const {
    ModelConfig config = tiny_config("lime");
    config.lime = router;
    testing::write_tiny_checkpoint(folder_.path(), config);
    return Checkpoint::open(folder_.path());
  }
  static MatrixF stored(const Checkpoint& checkpoint, int layer) {
    return checkpoint.read_matrix("model.layers." + std::to_string(layer) +
                                  ".self_attn.lime_router.static_weights");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FullRouterTest, IsWhatIsStoredOfAFullOne) {
  const Checkpoint checkpoint = open({});
  EXPECT_FALSE(read_full_router(checkpoint, 0).has_value());
  EXPECT_EQ(*read_full_router(checkpoint, 2), stored(checkpoint, 2));
}

TEST_F(FullRouterTest, IsZeroWhereARouterDoesNotRead) {
  const Checkpoint checkpoint = open({.router = RouterKind::kLast, .j = 2});
  const MatrixF full = *read_full_router(checkpoint, 2);
  EXPECT_EQ(full.cols(), 6);
  EXPECT_TRUE(full.leftCols(2).isZero(0.0F));
  EXPECT_EQ(full.rightCols(4), stored(checkpoint, 2));
}

TEST_F(FullRouterTest, IsDiagonalWithoutHeadMixing) {
  const Checkpoint checkpoint = open({.head_mixing = false});
  const MatrixF weights = stored(checkpoint, 1);
  ASSERT_EQ(weights.cols(), 2);
  MatrixF expected(2, 4);
  expected << weights(0, 0), 0, weights(0, 1), 0, 0, weights(1, 0), 0, weights(1, 1);
  EXPECT_EQ(*read_full_router(checkpoint, 1), expected);
}

TEST_F(FullRouterTest, IsTheMeanOverDimensions) {
  const Checkpoint checkpoint = open({.per_dimension = true});
  const MatrixF weights = stored(checkpoint, 1);
  ASSERT_EQ(weights.cols(), 4 * 6);
  EXPECT_FLOAT_EQ((*read_full_router(checkpoint, 1))(1, 2), weights.row(1).segment(12, 6).mean());
}

TEST_F(FullRouterTest, OfAnAverageHasEqualWeights) {
  const Checkpoint checkpoint = open({.router = RouterKind::kAverage});
  const MatrixF full = *read_full_router(checkpoint, 2);
  EXPECT_FLOAT_EQ(full(1, 3), 1.0F / 3.0F);
  EXPECT_EQ(full(1, 2), 0.0F);
  EXPECT_FLOAT_EQ(full.sum(), 2.0F);
}

TEST_F(FullRouterTest, ThereIsNoneWhereItDependsOnTheToken) {
  EXPECT_FALSE(read_full_router(open({.dynamic = true}), 2).has_value());
}

}  // namespace
}  // namespace lime

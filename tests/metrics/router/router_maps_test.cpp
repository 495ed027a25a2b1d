// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_maps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "core/errors.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/random_routers.h"
#include "metrics/router/router_summary.h"
#include "metrics/router/routers.h"

namespace lime {
namespace {

using Eigen::Index;
using testing::fully_random_routers;

TEST(RouterMapsTest, IdentityRouterReadsItsOwnLayerOnly) {
  const Routers routers = Routers::identity(5, 4);
  EXPECT_EQ(router_mean_map(routers, unit_scales(routers)), MatrixD(MatrixD::Identity(5, 5)));
  for (const RouterHeadSummary& head : summarize_routers(routers, unit_scales(routers))) {
    EXPECT_DOUBLE_EQ(head.effective_sources, 1.0);
    EXPECT_DOUBLE_EQ(head.share_own, 1.0);
    EXPECT_DOUBLE_EQ(head.mean_depth, 0.0);
  }
}

TEST(RouterMapsTest, UniformRouterReadsAllBufferedHeadsAlike) {
  Routers routers = Routers::identity(4, 2);
  for (MatrixD& router : routers.weights) router.setConstant(-0.3);
  const MatrixD map = router_mean_map(routers, unit_scales(routers));
  for (Index l = 0; l < 4; ++l) EXPECT_NEAR(map(l, 0), 1.0 / double(l + 1), 1e-15);
  const RouterHeadSummary last = summarize_routers(routers, unit_scales(routers)).back();
  EXPECT_NEAR(last.effective_sources, 8.0, 1e-12);
  EXPECT_NEAR(last.mean_depth, 1.5, 1e-12);
  EXPECT_NEAR(last.share_first_two, 0.5, 1e-12);
  EXPECT_NEAR(last.share_negative, 1.0, 1e-12);
}

TEST(RouterMapsTest, MeanMapEqualsTheDirectSum) {
  const Routers routers = fully_random_routers(6, 3);
  const MatrixD map = router_mean_map(routers, unit_scales(routers));
  for (Index l = 0; l < 6; ++l) {
    const MatrixD magnitudes = routers.weights[std::size_t(l)].cwiseAbs();
    for (Index source = 0; source <= l; ++source) {
      double sum = 0.0;
      for (Index target = 0; target < 3; ++target) {
        for (Index head = 0; head < 3; ++head) sum += magnitudes(target, source * 3 + head);
      }
      EXPECT_NEAR(map(l, source), sum / magnitudes.sum(), 1e-14);
    }
    EXPECT_NEAR(map.row(l).sum(), 1.0, 1e-14);
  }
}

TEST(RouterMapsTest, WeightedMapsDoNotDependOnHowHeadsAreScaled) {
  const Routers routers = fully_random_routers(5, 2);
  const HeadScales scales = HeadScales::Constant(5, 2, 1.5);
  // Head 1 of layer 2 has its projections multiplied by 4 and its router columns divided by 4.
  Routers rescaled = routers;
  HeadScales rescaled_scales = scales;
  rescaled_scales(2, 1) *= 4.0;
  for (std::size_t layer = 2; layer < 5; ++layer) rescaled.weights[layer].col(2 * 2 + 1) /= 4.0;

  const MatrixD map = router_mean_map(routers, scales);
  EXPECT_LT((router_mean_map(rescaled, rescaled_scales) - map).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_GT((router_mean_map(rescaled, scales) - map).cwiseAbs().maxCoeff(), 0.01);
}

TEST(RouterMapsTest, HeadMapsAverageToTheMeanMapWhenHeadsAreEquallyStrong) {
  const Routers routers = fully_random_routers(4, 2);
  const MatrixD heads = router_head_maps(routers, unit_scales(routers))[3];
  EXPECT_EQ(heads.rows(), 2);
  EXPECT_EQ(heads.cols(), 4);
  for (Index head = 0; head < 2; ++head) EXPECT_NEAR(heads.row(head).sum(), 1.0, 1e-14);
}

TEST(RouterMapsTest, NamesTheLayerAtFault) {
  Routers routers = Routers::identity(3, 2);
  routers.weights[1].resize(2, 3);
  try {
    router_mean_map(routers, HeadScales::Ones(3, 2));
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "router: layer 1 must have the shape [2, 4], got [2, 3]");
  }
}

TEST(RouterValuesTest, SharesOfAHeadSumToOneAndSignsCancel) {
  const Routers routers = fully_random_routers(5, 3, 5);
  const MatrixD shares = router_head_values(routers, 4, RouterQuantity::kShare);
  const MatrixD weights = router_head_values(routers, 4, RouterQuantity::kSigned);
  for (Index h = 0; h < 3; ++h) {
    EXPECT_NEAR(shares.row(h).sum(), 1.0, 1e-14);
    EXPECT_NEAR(weights.row(h).sum(), routers.weights[4].row(h).sum(), 1e-13);
  }
}

TEST(RouterValuesTest, LayersAreMeansOfHeadsAndHeadsSumsOfBlocks) {
  const Routers routers = fully_random_routers(4, 3, 5);
  for (const RouterQuantity quantity : {RouterQuantity::kShare, RouterQuantity::kMagnitude,
                                        RouterQuantity::kSignedShare, RouterQuantity::kSigned}) {
    const bool is_share =
        quantity == RouterQuantity::kShare || quantity == RouterQuantity::kSignedShare;
    const MatrixD layers = router_layer_values(routers, quantity);
    const MatrixD heads = router_head_values(routers, 3, quantity);
    EXPECT_TRUE(std::isnan(layers(1, 2)));
    for (Index s = 0; s < 4; ++s) {
      if (!is_share) {
        EXPECT_NEAR(layers(3, s), heads.col(s).mean(), 1e-14);
      }
      const MatrixD block = router_block_values(routers, 3, s, quantity);
      EXPECT_NEAR(heads(1, s), block.row(1).sum(), 1e-14);
    }
  }
  EXPECT_EQ(router_block_values(routers, 3, 1, RouterQuantity::kSigned),
            MatrixD(routers.weights[3].middleCols(3, 3)));
}

TEST(RouterValuesTest, SharesEqualTheMapsOfThePaper) {
  const Routers routers = fully_random_routers(4, 3, 5);
  const MatrixD mean = router_mean_map(routers, unit_scales(routers));
  const MatrixD shares = router_layer_values(routers, RouterQuantity::kShare);
  for (Index l = 0; l < 4; ++l) {
    for (Index s = 0; s <= l; ++s) EXPECT_NEAR(shares(l, s), mean(l, s), 1e-14);
  }
  const MatrixD paper = router_head_maps(routers, unit_scales(routers))[2];
  EXPECT_TRUE(router_head_values(routers, 2, RouterQuantity::kShare).isApprox(paper, 1e-13));
}

TEST(RouterValuesTest, RefusesWhatIsNotThere) {
  const Routers routers = Routers::identity(3, 2);
  EXPECT_THROW(router_block_values(routers, 1, 2, RouterQuantity::kShare), InvalidArgument);
}

}  // namespace
}  // namespace lime

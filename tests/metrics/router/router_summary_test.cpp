// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/random.h"
#include "metrics/router/random_routers.h"
#include "metrics/router/routers.h"

namespace lime {
namespace {

using Eigen::Index;
using testing::fully_random_routers;

TEST(RouterMapsTest, DistanceToItselfIsZero) {
  const Routers routers = fully_random_routers(4, 2);
  EXPECT_EQ(router_distance(routers, routers), VectorD(VectorD::Zero(4)));
  Routers doubled = routers;
  for (MatrixD& router : doubled.weights) router *= 2.0;
  EXPECT_NEAR(router_distance(doubled, routers)(2), 1.0, 1e-12);
}

TEST(RouterMapsTest, DriftIsNoneAtTheStartOfTraining) {
  Random random(3);
  Routers routers = Routers::identity(3, 16);
  for (std::size_t layer = 1; layer < 3; ++layer) {
    MatrixD& router = routers.weights[layer];
    const double bound = std::sqrt(3.0 / double(router.cols()));
    for (Index row = 0; row < 16; ++row) {
      for (Index column = 0; column < router.cols() - 16; ++column) {
        router(row, column) = random.uniform(-bound, bound);
      }
    }
  }
  const std::vector<RouterDrift> drift = router_drift(routers);
  EXPECT_TRUE(std::isnan(drift[0].others_ratio));
  EXPECT_EQ(drift[2].own_distance, 0.0);
  EXPECT_NEAR(drift[2].others_ratio, 1.0, 0.05);
  routers.weights[2] *= 3.0;
  EXPECT_NEAR(router_drift(routers)[2].own_distance, 2.0, 1e-12);
  EXPECT_NEAR(router_drift(routers)[2].others_ratio, 3.0, 0.15);
}

}  // namespace
}  // namespace lime

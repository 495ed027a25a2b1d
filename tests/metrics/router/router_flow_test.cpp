// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_flow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "core/errors.h"
#include "metrics/router/random_routers.h"
#include "metrics/router/routers.h"

namespace lime {
namespace {

using Eigen::Index;
using testing::fully_random_routers;

TEST(RouterFlowTest, FirstLayerReadsItselfOnly) {
  const RouterFlow flow = router_flow(Routers::identity(3, 2), 0, 1);
  EXPECT_EQ(flow.direct(1, 0), 1.0);
  EXPECT_EQ(flow.indirect.sum(), 0.0);
  EXPECT_TRUE(flow.edges.empty());
}

TEST(RouterFlowTest, AllContentComesFromTheEmbeddings) {
  const Routers routers = fully_random_routers(6, 3, 5);
  const RouterFlowOptions all{.residual_share = 0.3, .max_edges = 100000};
  const RouterFlow flow = router_flow(routers, 5, 2, all);
  EXPECT_NEAR(flow.direct.sum(), 1.0, 1e-14);
  // Content that arrives at layer 0: through its buffer, and through the stream without routed
  // heads.
  double carried = 0.0;
  for (Index m = 5; m > 0; --m) {
    carried = 0.3 * (carried + flow.direct.col(m).sum() + flow.indirect.col(m).sum());
  }
  EXPECT_NEAR(carried + flow.direct.col(0).sum() + flow.indirect.col(0).sum(), 1.0, 1e-13);
}

TEST(RouterFlowTest, PlainTransformerPassesEachLayerByHalves) {
  const RouterFlow flow = router_flow(Routers::identity(4, 2), 3, 0);
  EXPECT_EQ(flow.direct(0, 3), 1.0);
  for (Index m = 0; m < 3; ++m) {
    for (Index h = 0; h < 2; ++h) EXPECT_NEAR(flow.indirect(h, m), 0.25, 1e-15) << m;
  }
}

TEST(RouterFlowTest, EqualsTheSumOverAllPaths) {
  // Two layers back, computed explicitly.
  const Routers routers = fully_random_routers(3, 2, 5);
  const RouterFlow flow = router_flow(routers, 2, 1);
  const auto share = [&](Index layer, Index head, Index source) {
    const MatrixD& r = routers.weights[static_cast<std::size_t>(layer)];
    return std::abs(r(head, source)) / r.row(head).cwiseAbs().sum();
  };
  const double own = share(2, 1, 4) + share(2, 1, 5);  // arrives before layer 2
  double before_1 = 0.5 * own + share(2, 1, 2) + share(2, 1, 3);
  double expected = 0.0;  // in buffered head 0 of layer 0, not directly
  for (Index h = 0; h < 2; ++h) {
    before_1 += 0.5 * own / 2.0 * (share(1, h, 2) + share(1, h, 3));
    expected += 0.5 * own / 2.0 * share(1, h, 0);
  }
  for (Index h = 0; h < 2; ++h) expected += 0.5 * before_1 / 2.0 * share(0, h, 0);
  EXPECT_NEAR(flow.indirect(0, 0), expected, 1e-14);
}

TEST(RouterFlowTest, EdgesAreTheStrongestInOrder) {
  const Routers routers = fully_random_routers(6, 4, 5);
  const RouterFlow all = router_flow(routers, 5, 0, {.max_edges = 100000});
  const RouterFlow few = router_flow(routers, 5, 0, {.max_edges = 10});
  ASSERT_EQ(few.edges.size(), 10U);
  double sum = 0.0;
  for (std::size_t i = 0; i < all.edges.size(); ++i) {
    sum += all.edges[i].amount;
    if (i > 0) {
      EXPECT_LE(all.edges[i].amount, all.edges[i - 1].amount);
    }
    if (i < few.edges.size()) {
      EXPECT_EQ(all.edges[i].amount, few.edges[i].amount);
    }
  }
  EXPECT_NEAR(sum, all.indirect.sum(), 1e-12);
}

TEST(RouterFlowTest, RefusesWhatIsNotThere) {
  const Routers routers = Routers::identity(3, 2);
  EXPECT_THROW(router_flow(routers, 3, 0), InvalidArgument);
  EXPECT_THROW(router_flow(routers, 1, 2), InvalidArgument);
  EXPECT_THROW(router_flow(routers, 1, 0, {.residual_share = 1.5}), InvalidArgument);
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/geometry/make_measures.py: scipy.
#include "metrics/correlation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(CorrelationTest, RankCorrelationsEqualScipy) {
  const Json expected =
      read_json_file(testing::golden_file("geometry/measures.json")).at("correlations");
  const auto x = expected.at("x").get<std::vector<double>>();
  const auto y = expected.at("y").get<std::vector<double>>();
  std::vector<double> depth;
  for (std::size_t i = 0; i < x.size(); ++i) depth.push_back(static_cast<double>(i));
  EXPECT_NEAR(spearman_correlation(x, y), expected.at("spearman").get<double>(), 1e-12);
  EXPECT_NEAR(partial_spearman_correlation(x, y, depth), expected.at("partial").get<double>(),
              1e-12);
  EXPECT_TRUE(std::isnan(partial_spearman_correlation(depth, y, depth)));
  EXPECT_TRUE(std::isnan(spearman_correlation(x, std::vector<double>(x.size(), 1.0))));
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/make_comparison_goldens.py and geometry/make_measures.py: scipy and
// statsmodels.
#include "metrics/comparison/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/errors.h"
#include "core/json.h"
#include "metrics/comparison/run_comparison.h"
#include "metrics/summary.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(KruskalWallisTest, IsThatOfScipy) {
  const Json expected = read_json_file(testing::golden_file("geometry/measures.json")).at("runs");
  const auto first = expected.at("first").get<RunValues>();
  const auto second = expected.at("second").get<RunValues>();
  RunValues means(2);
  for (const auto& run : first) means[0].push_back(mean_of(run));
  for (const auto& run : second) means[1].push_back(mean_of(run));
  EXPECT_NEAR(kruskal_wallis_p(means), expected.at("p_kruskal").get<double>(), 1e-12);
  EXPECT_NEAR(kruskal_wallis_p(expected.at("groups").get<RunValues>()),
              expected.at("groups_p").get<double>(), 1e-12);
}

TEST(HolmAdjustedTest, IsThatOfStatsmodels) {
  const Json golden = read_json_file(testing::golden_file("comparison.json"));
  for (const Json& entry : golden.at("holm")) {
    const std::vector<double> adjusted = holm_adjusted(entry.at("p").get<std::vector<double>>());
    const std::vector<double> expected = entry.at("adjusted").get<std::vector<double>>();
    ASSERT_EQ(adjusted.size(), expected.size());
    for (std::size_t i = 0; i < adjusted.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15);
  }
}

TEST(HolmAdjustedTest, RefusesWhatIsNoProbability) {
  EXPECT_TRUE(holm_adjusted({}).empty());
  const std::vector<double> broken = {0.5, std::nan("")};
  EXPECT_THROW(holm_adjusted(broken), InvalidArgument);
}

}  // namespace
}  // namespace lime

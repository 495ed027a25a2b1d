// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/geometry/make_measures.py: numpy and scipy.
#include "metrics/comparison/run_comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(RunComparisonTest, TrainingRunsAreTheUnitAsInScipy) {
  const Json expected = read_json_file(testing::golden_file("geometry/measures.json")).at("runs");
  const auto first = expected.at("first").get<RunValues>();
  const auto second = expected.at("second").get<RunValues>();
  const RunSummary summary = summarize_runs(first);
  EXPECT_NEAR(summary.ci_low, expected.at("t_low").get<double>(), 1e-12);
  EXPECT_NEAR(summary.ci_high, expected.at("t_high").get<double>(), 1e-12);
  // The standard error of these quantiles with 10,000 resamples is about 0.005.
  const Json& nested = expected.at("nested");
  EXPECT_NEAR(summary.both_ci_low, nested.at("both").at(0).get<double>(), 0.02);
  EXPECT_NEAR(summary.both_ci_high, nested.at("both").at(1).get<double>(), 0.02);
  const RunComparison found = compare_runs(first, second);
  EXPECT_TRUE(found.exact);
  EXPECT_NEAR(found.p_value, expected.at("p").get<double>(), 1e-12);
  EXPECT_NEAR(found.ci_low, nested.at("difference").at(0).get<double>(), 0.02);
  EXPECT_NEAR(found.ci_high, nested.at("difference").at(1).get<double>(), 0.02);
  EXPECT_TRUE(std::isnan(summarize_runs({first[0]}).ci_low)) << "one run";
}

}  // namespace
}  // namespace lime

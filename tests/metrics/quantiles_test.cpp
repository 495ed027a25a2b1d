// SPDX-License-Identifier: Apache-2.0
// Compares with scipy; few degrees of freedom by tests/golden/geometry/make_measures.py.
#include "metrics/quantiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(NormalQuantileTest, InvertsTheDistribution) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-15);
  for (const double p : {1e-12, 1e-6, 0.01, 0.2, 0.6, 0.9, 0.999999}) {
    const double back = 0.5 * std::erfc(-normal_quantile(p) / std::numbers::sqrt2);
    EXPECT_NEAR(back / p, 1.0, 1e-10) << p;
  }
}

// scipy.stats.t.ppf
TEST(StudentQuantileTest, IsThatOfScipy) {
  EXPECT_NEAR(student_quantile(0.975, 4), 2.7764451, 2e-3);
  EXPECT_NEAR(student_quantile(0.975, 9), 2.2621572, 1e-3);
  EXPECT_NEAR(student_quantile(0.995, 9), 3.2498355, 2e-3);
  EXPECT_NEAR(student_quantile(0.95, 19), 1.7291328, 1e-4);
  EXPECT_NEAR(student_quantile(0.5, 5), 0.0, 1e-12);
}

TEST(StudentQuantileTest, IsExactForFewDegreesOfFreedom) {
  const Json expected = read_json_file(testing::golden_file("geometry/measures.json")).at("runs");
  for (const int n : {1, 2, 3}) {
    EXPECT_NEAR(student_quantile(0.975, n),
                expected.at("t_975").at(std::to_string(n)).get<double>(), 1e-9);
  }
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analysis/geometry/geometry_analysis.h"

namespace lime {
namespace {

TEST(GeometryOptionsTest, KnowsWhichMeasuresHaveValuesPerItem) {
  GeometryAnalysisOptions options;
  options.measure = {GeometryGroup::kViews};
  EXPECT_TRUE(options.measures_items()) << "InfoNCE has one per text";
  options.jackknife = 7;
  options.measure = {GeometryGroup::kDimension};
  EXPECT_TRUE(options.measures_items());
  options.jackknife = 0;
  EXPECT_FALSE(options.measures_items());
  options.measure = {GeometryGroup::kRank};
  EXPECT_EQ(options.measures_items(), options.ranks != RankScope::kRows);
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/stored_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "support/result_rows.h"

namespace lime {
namespace {

Results example() {
  Results results;
  results.metric = "entropy";
  results.rows = {{{col::kLabel, "a"},
                   {col::kSite, "values"},
                   {col::kLayer, 0},
                   {col::kMean, 2.0},
                   {col::kN, 4}},
                  {{col::kLabel, "a"},
                   {col::kSite, "values"},
                   {col::kLayer, 1},
                   {col::kMean, 1.5},
                   {col::kN, 4}}};
  return results;
}

TEST(CompareResultsTest, EqualRowsAreTheSame) {
  Results before = example();
  testing::set_cell(before.rows[0], col::kCiLow, "nan");
  Results after = example();
  after.rows[0].set(col::kCiLow, std::nan(""));  // as computed, before writing
  const ResultsDifference difference = compare_results(before, after);
  EXPECT_TRUE(difference.same());
  EXPECT_EQ(difference.num_values(), 11);
}

TEST(CompareResultsTest, NamesTheLargestDifferenceOfAColumn) {
  Results after = example();
  after.rows[0].set(col::kMean, std::nextafter(2.0, 3.0));
  after.rows[1].set(col::kMean, 1.25);
  const ResultsDifference difference = compare_results(example(), after);
  EXPECT_FALSE(difference.same());
  EXPECT_EQ(difference.num_different(), 2);
  const ColumnDifference& mean = difference.columns[3];
  EXPECT_EQ(mean.column, "mean");
  EXPECT_EQ(mean.different, 2);
  EXPECT_EQ(mean.largest, 0.25);
  EXPECT_EQ(mean.where, "a, values, layer 1");
  EXPECT_EQ(mean.before, 1.5);
  EXPECT_EQ(mean.after, 1.25);
}

TEST(CompareResultsTest, ToleranceIsRelative) {
  Results after = example();
  after.rows[0].set(col::kMean, 2.0 * (1.0 + 1e-10));
  EXPECT_FALSE(compare_results(example(), after).same());
  EXPECT_FALSE(compare_results(example(), after, 1e-11).same());
  EXPECT_TRUE(compare_results(example(), after, 1e-9).same());
  EXPECT_THROW(compare_results(example(), after, -1.0), InvalidArgument);
}

TEST(CompareResultsTest, TextsAndAbsentValuesDifferWhateverTheTolerance) {
  Results after = example();
  after.rows[0].set(col::kLabel, "b");
  after.rows[1].erase(col::kN);
  const ResultsDifference difference = compare_results(example(), after, 0.5);
  EXPECT_EQ(difference.num_different(), 2);
  EXPECT_EQ(difference.columns[0].largest, std::numeric_limits<double>::infinity());
}

TEST(CompareResultsTest, OtherNumbersOfRowsCannotBeCompared) {
  Results after = example();
  after.rows.pop_back();
  const ResultsDifference difference = compare_results(example(), after);
  EXPECT_EQ(difference.mismatch, "2 rows before, 1 now");
  EXPECT_FALSE(difference.same());
}

}  // namespace
}  // namespace lime

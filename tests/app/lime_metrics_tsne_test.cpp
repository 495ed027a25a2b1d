// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics tsne.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "app/lime_metrics_fixture.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using testing::ProgramRun;
using testing::SmallCapture;
using testing::write_capture;

/// The close numbers of the paper, in the format of lime-capture --only.
SmallCapture close_numbers() {
  SmallCapture capture;
  constexpr std::int64_t kCloseRows = 160;
  capture.lengths = {kCloseRows};
  capture.class_names = {"1", "2", "3", "4", "100", "101", "102", "103"};
  MatrixF rows = testing::random_matrix(kCloseRows, 12, 3);
  for (std::int64_t row = 0; row < kCloseRows; ++row) {
    capture.class_id.push_back(static_cast<std::int16_t>(row % 8));
    rows(row, row % 8) += 6.0F;
  }
  capture.activations.push_back({"values", 0, rows});
  capture.activations.push_back({"values", 1, 2.0F * rows});
  return capture;
}

class LimeMetricsTsneTest : public LimeMetricsTest {
 protected:
  LimeMetricsTsneTest() { write_capture(folder_ / "capture.h5", close_numbers()); }
  const std::string quick_ = " --perplexity 10 --iterations 100 --threads 2 ";
};

TEST_F(LimeMetricsTsneTest, DrawsCloseNumbers) {
  const ProgramRun result = run("tsne --class 1,2,3,4 -o near.json -o near.csv" + quick_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("80 points"));
  EXPECT_THAT(result.output, HasSubstr("trust"));
  for (const std::string name :
       {"near.json", "near.csv", "near.embeddings.h5", "near.embeddings.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  }
  EXPECT_EQ(rows("tsne --class 100,101,102,103 --layer 1" + quick_).at(0).at("points"), 80);
}

TEST_F(LimeMetricsTsneTest, ComparesTrustworthinessPointByPoint) {
  SmallCapture noisy = close_numbers();
  noisy.activations[1].rows = testing::random_matrix(160, 12, 9);
  write_capture(folder_ / "noisy.h5", noisy);
  const Json found = rows("tsne capture.h5 noisy.h5 --compare first" + quick_);
  ASSERT_EQ(found.size(), 6U);
  for (std::size_t i = 4; i < 6; ++i) {
    const Json& row = found[i];
    EXPECT_EQ(row.at("quantity"), "trustworthiness");
    EXPECT_EQ(row.at("n"), 160);
    EXPECT_NEAR(row.at("baseline_mean").get<double>(),
                found[i - 4].at("trustworthiness").get<double>(), 1e-12);
    EXPECT_NEAR(row.at("mean").get<double>(), found[i - 2].at("trustworthiness").get<double>(),
                1e-12);
  }
  EXPECT_EQ(found[4].at("difference"), 0.0);
  EXPECT_LT(found[5].at("ci_high").get<double>(), 0.0);
  SmallCapture other = close_numbers();
  other.first_token = 5;
  write_capture(folder_ / "other.h5", other);
  EXPECT_THAT(refusal("tsne capture.h5 other.h5 --compare first", 1),
              HasSubstr("contain different sequences"));
}

TEST_F(LimeMetricsTsneTest, RefusesWhatCannotWork) {
  EXPECT_EQ(refusal("tsne --perplexity 60", 1),
            "lime-metrics: 'capture.h5': tsne: perplexity must be <= (num_points - 1) / 3 = 53.0 "
            "for 160 points, got 60\n");
  EXPECT_EQ(refusal("tsne --perplexity 0", 2),
            "lime-metrics: --perplexity: must be >= 1, got 0; see lime-metrics tsne --help\n");
  EXPECT_THAT(refusal("tsne --layer 7", 1), HasSubstr("7"));
  EXPECT_EQ(refusal("tsne --layer ''", 2),
            "lime-metrics: --layer: expected all or a list such as 0,3,8-15, got ''; see "
            "lime-metrics tsne --help\n");
  EXPECT_THAT(refusal("tsne --class five", 1), HasSubstr("got 'five'"));
  SmallCapture equal = close_numbers();
  equal.activations[1].rows.setOnes();
  write_capture(folder_ / "equal.h5", equal);
  EXPECT_EQ(refusal("tsne equal.h5" + quick_, 1),
            "lime-metrics: 'equal.h5': site 'values', layer 1: tsne: all 160 rows are equal; there "
            "is nothing to embed\n");
  SmallCapture undefined = close_numbers();
  undefined.activations[1].rows(17, 5) = std::numeric_limits<float>::quiet_NaN();
  write_capture(folder_ / "undefined.h5", undefined);
  EXPECT_EQ(
      refusal("tsne undefined.h5" + quick_, 1),
      "lime-metrics: 'undefined.h5': site 'values', layer 1: rows must be finite, got nan in "
      "sequence 0, position 17, dimension 5; check the model for overflow, or capture in a wider "
      "type\n");
}

/// Like the values of layer 0, which depend on the token alone.
TEST_F(LimeMetricsTsneTest, CountsEqualRows) {
  SmallCapture capture = close_numbers();
  MatrixF& rows = capture.activations[0].rows;
  for (Eigen::Index row = 8; row < rows.rows(); ++row) rows.row(row) = rows.row(row % 8);
  write_capture(folder_ / "tokens.h5", capture);
  const ProgramRun result = run("tsne tokens.h5 -o tokens.json" + quick_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("distinct: number of distinct rows among the points"));
  const Json found = this->rows("tsne tokens.h5" + quick_);
  EXPECT_EQ(found.at(0).at("distinct"), 8);
  EXPECT_EQ(found.at(1).at("distinct"), 160);
}

}  // namespace
}  // namespace lime

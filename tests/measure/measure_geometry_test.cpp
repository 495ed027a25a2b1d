// SPDX-License-Identifier: Apache-2.0
// Geometry measured inside the passes equals that of a capture.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "analysis/geometry/geometry_analysis.h"
#include "core/random.h"
#include "measure/device_geometry.h"
#include "measure/measure_fixture.h"
#include "metrics/geometry/first_token.h"

namespace lime {
namespace {

using testing::expect_equal_rows;

/// Sums over rows are in another order.
constexpr double kOrderTolerance = 1e-10;
constexpr double kGeometryDeviceTolerance = 1e-6;

class MeasureGeometryTest : public testing::MeasureTest {
 protected:
  static GeometryAnalysisOptions geometry(RankScope ranks) {
    GeometryAnalysisOptions options;
    options.measure = {GeometryGroup::kRank,      GeometryGroup::kSimilarity,
                       GeometryGroup::kCurvature, GeometryGroup::kMassive,
                       GeometryGroup::kDimension, GeometryGroup::kFirstToken,
                       GeometryGroup::kPowerLaw};
    options.ranks = ranks;
    options.power_law = {.first = 2, .last = 6};
    options.massive = {.threshold = 0.1, .ratio = 2.0};
    options.neighbor_rows = 100;
    return options;
  }
  static std::string request(const std::string& ranks) {
    return "geometry measure=rank,similarity,curvature,massive,dimension,first-token,power-law "
           "power-law-first=2 power-law-last=6 massive-threshold=0.1 massive-ratio=2 "
           "neighbor-rows=100 ranks=" +
           ranks;
  }
};

TEST_F(MeasureGeometryTest, EqualsTheCapture) {
  expect_equal_rows(measured(request("both")),
                    captured(prepare_geometry, geometry(RankScope::kBoth)), kOrderTolerance);
}

TEST_F(MeasureGeometryTest, EqualsTheCaptureByDefaultAndDoesNotDependOnMemory) {
  const Results kept = measured("geometry");
  expect_equal_rows(kept, captured(prepare_geometry, GeometryAnalysisOptions{}), kOrderTolerance);
  measure_.activation_memory = ByteSize{1};
  expect_equal_rows(measured("geometry"), kept, 0.0);
  options_.threads = 3;
  expect_equal_rows(measured("geometry"), kept, 0.0);
}

TEST_F(MeasureGeometryTest, EqualsTheCaptureOnADevice) {
  const Results expected = captured(prepare_geometry, geometry(RankScope::kBoth));
  use_device();
  expect_equal_rows(measured(request("both")), expected, kGeometryDeviceTolerance);
}

TEST_F(MeasureGeometryTest, EqualsTheCaptureForSequencesOfDifferentLengths) {
  use_lines();
  GeometryAnalysisOptions options;
  options.captures.skip_tokens = 2;
  const Results expected = captured(prepare_geometry, options);
  expect_equal_rows(measured("geometry skip-tokens=2"), expected, kOrderTolerance);
  use_device();
  expect_equal_rows(measured("geometry skip-tokens=2"), expected, kGeometryDeviceTolerance);
}

TEST_F(MeasureGeometryTest, NeedsNoSecondPassForMeasuresOfSequences) {
  measure_.activation_memory = ByteSize{1};
  EXPECT_EQ(measured("geometry measure=curvature,massive").provenance.at("repeated_tokens"), 0);
}

TEST_F(MeasureGeometryTest, RefusesWhatNeedsStoredActivations) {
  EXPECT_EQ(refusal("geometry jackknife=5"),
            "measure: geometry cannot have the option 'jackknife'; it measures the rows several "
            "times: store a capture, and use lime-metrics geometry");
  EXPECT_EQ(refusal("geometry measure=views"),
            "measure: geometry of views needs stored sequences: store a capture, and use "
            "lime-metrics geometry");
}

TEST(LargestGramEigenvaluesTest, EqualThoseOfTheCpu) {
  constexpr std::int64_t kRows = 60;
  constexpr std::int64_t kDim = 37;
  Random random(5);
  MatrixF matrix(3 * kRows, kDim);
  for (float& value : matrix.reshaped()) value = static_cast<float>(random.normal());
  matrix.middleRows(kRows, kRows).setZero();               // no direction at all
  matrix.bottomRows(kRows).rightCols(kDim - 1).setZero();  // one direction
  const at::Tensor rows =
      at::from_blob(matrix.data(), {3, kRows, kDim}, at::kFloat).to(at::kDouble);
  const std::vector<double> found = largest_gram_eigenvalues(rows);
  for (std::int64_t i = 0; i < 3; ++i) {
    const double expected = largest_gram_eigenvalue(matrix.middleRows(i * kRows, kRows));
    EXPECT_NEAR(found[static_cast<std::size_t>(i)], expected, 1e-9 * (1.0 + expected)) << i;
  }
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/layer_spectra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/engine/run_analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "support/statistics.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

class LayerSpectraTest : public ::testing::Test {
 protected:
  CaptureReader capture(const testing::SmallCapture& small) const {
    testing::write_capture(folder_ / "run.h5", small);
    return CaptureReader(folder_ / "run.h5");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LayerSpectraTest, ALayersSpectrumIsThatOfTheCovarianceOfItsStandardizedRows) {
  const CaptureReader reader = capture(testing::example_capture());
  const LayerSpectra layer = layer_spectra(reader, "hidden", 1, std::vector<double>(3, 1.0));
  const MatrixF rows = reader.read_all("hidden", 1);
  const MatrixD z = standardize(rows, make_standardization(testing::statistics_of(rows)));
  const Eigen::SelfAdjointEigenSolver<MatrixD> solver(z.transpose() * z);
  const VectorD expected = solver.eigenvalues().reverse() / solver.eigenvalues().sum();
  ASSERT_EQ(layer.spectrum.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(layer.spectrum[i], expected(static_cast<Eigen::Index>(i)), 1e-12);
  }
}

TEST_F(LayerSpectraTest, ExtremesAreTheSequencesOfLowestAndHighestEntropy) {
  const CaptureReader reader = capture(testing::example_capture());
  EntropyAnalysisOptions options;
  options.captures.captures = {folder_ / "run.h5"};
  const AnalysisResult measured = compute(prepare_entropy(options, {}), {});
  EXPECT_TRUE(entropies_of_layer(measured, "values", 2).empty());
  const LayerSpectra layer =
      layer_spectra(reader, "values", 0, entropies_of_layer(measured, "values", 0), 2);
  const MatrixF rows = reader.read_all("values", 0);
  const MatrixD z = standardize(rows, make_standardization(testing::statistics_of(rows)));
  std::vector<double> entropies;
  for (const auto& [first, count] : {std::pair(0, 5), std::pair(5, 8), std::pair(13, 3)}) {
    const MatrixD part = z.middleRows(first, count);
    entropies.push_back(matrix_renyi_entropy(part, 0.5));
  }
  ASSERT_EQ(layer.lowest.size(), 2U);
  ASSERT_EQ(layer.highest.size(), 1U) << "three sequences, none of them in both lists";
  std::vector<double> fractions;  // of the maximum: lengths 5, 8 and 3, wider than any of them
  for (std::size_t i = 0; i < 3; ++i) {
    const double most =
        std::log(std::min<double>(std::array{5.0, 8.0, 3.0}[i], static_cast<double>(rows.cols())));
    fractions.push_back(entropies[i] / most);
  }
  const auto [low, high] = std::minmax_element(fractions.begin(), fractions.end());
  EXPECT_EQ(layer.lowest[0].sequence, low - fractions.begin());
  EXPECT_NEAR(layer.lowest[0].entropy,
              entropies[static_cast<std::size_t>(layer.lowest[0].sequence)], 1e-12);
  EXPECT_EQ(layer.highest[0].sequence, high - fractions.begin());
  EXPECT_NE(layer.lowest[1].sequence, layer.highest[0].sequence);
  // exp of the entropy of order 1/2 of its spectrum is (sum sqrt p)^2.
  double root = 0.0;
  for (const double share : layer.lowest[0].spectrum) root += std::sqrt(share);
  EXPECT_NEAR(2.0 * std::log(root), layer.lowest[0].entropy, 1e-9);
  EXPECT_THAT(layer.lowest[0].text, HasSubstr("ids "));
}

TEST_F(LayerSpectraTest, SequencesOfOneTokenAreAtNoEnd) {
  testing::SmallCapture small = testing::example_capture();
  small.lengths = {5, 1, 7, 3};
  const CaptureReader reader = capture(small);
  const LayerSpectra layer =
      layer_spectra(reader, "values", 0, std::vector<double>{1.0, 0.5, 0.9}, 2);
  ASSERT_EQ(layer.lowest.size() + layer.highest.size(), 3U);
  for (const std::vector<SequenceSpectrum>* const end : {&layer.lowest, &layer.highest}) {
    for (const SequenceSpectrum& spectrum : *end) {
      EXPECT_NE(spectrum.sequence, 1);
      if (spectrum.sequence == 2) {
        EXPECT_EQ(spectrum.entropy, 0.5) << "the second that is measured";
      }
    }
  }
}

TEST_F(LayerSpectraTest, RefusesCapturesOfSomeTokens) {
  testing::SmallCapture small = testing::example_capture();
  small.class_names = {" is"};
  const CaptureReader reader = capture(small);
  try {
    layer_spectra(reader, "values", 0, std::vector<double>(3, 1.0));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs every token of a sequence"));
  }
}

}  // namespace
}  // namespace lime

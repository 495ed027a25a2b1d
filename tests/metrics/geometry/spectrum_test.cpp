// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/errors.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

TEST(SpectrumTest, OrthonormalRowsCountThemselves) {
  const std::vector<double> eigenvalues(7, 1.0);
  const SpectrumMeasures ranks = measure_spectrum(eigenvalues, 7, 30);
  EXPECT_NEAR(ranks.effective_rank, 7.0, 1e-12);
  EXPECT_NEAR(ranks.rankme, 7.0, 1e-5);  // its epsilon is added after normalisation
  EXPECT_NEAR(ranks.stable_rank, 7.0, 1e-12);
  EXPECT_EQ(ranks.numerical_rank, 7.0);
  EXPECT_NEAR(participation_ratio(7.0, 7.0), 7.0, 1e-12);
}

TEST(SpectrumTest, OneDirectionIsOne) {
  const std::vector<double> eigenvalues = {-1e-18, 0.0, 4.0};
  const SpectrumMeasures ranks =
      measure_spectrum(eigenvalues, 3, 8, {.rankme_epsilon = 0.0, .rank_tolerance = {}});
  EXPECT_EQ(ranks.effective_rank, 1.0);
  EXPECT_EQ(ranks.rankme, 1.0);
  EXPECT_EQ(ranks.stable_rank, 1.0);
  EXPECT_EQ(ranks.numerical_rank, 1.0);
}

/// sigma = 3, 1: q = 3/4, 1/4.
TEST(SpectrumTest, TwoDirectionsInClosedForm) {
  const std::vector<double> eigenvalues = {1.0, 9.0};
  const SpectrumMeasures ranks = measure_spectrum(eigenvalues, 2, 2);
  EXPECT_NEAR(ranks.effective_rank, 4.0 / std::pow(3.0, 0.75), 1e-14);
  EXPECT_NEAR(ranks.stable_rank, 10.0 / 9.0, 1e-14);
  EXPECT_NEAR(participation_ratio(10.0, 82.0), 100.0 / 82.0, 1e-14);
  EXPECT_EQ(measure_spectrum(eigenvalues, 2, 2, {.rankme_epsilon = 0.0, .rank_tolerance = 0.4})
                .numerical_rank,
            1.0);
}

TEST(SpectrumTest, RefusesWhatHasNoSpectrum) {
  EXPECT_THROW(measure_spectrum(std::vector<double>{0.0, 0.0}, 2, 2), InvalidArgument);
  EXPECT_THROW(measure_spectrum({}, 2, 2), InvalidArgument);
  EXPECT_THROW(measure_spectrum(std::vector<double>{std::nan("")}, 1, 1), InvalidArgument);
  EXPECT_THROW(participation_ratio(0.0, 0.0), InvalidArgument);
  EXPECT_THROW((SpectrumOptions{.rankme_epsilon = -1.0, .rank_tolerance = {}}.validate()),
               InvalidArgument);
  EXPECT_THROW((SpectrumOptions{.rankme_epsilon = 0.0, .rank_tolerance = 1e-9}.validate()),
               InvalidArgument);
}

/// Moments about any shift give the same matrices, for any partition of the rows.
TEST(RowMomentsTest, EqualTheProductsWhateverTheShiftAndThePieces) {
  const MatrixF rows = (testing::random_matrix(90, 31, 1).array() + 5.0).matrix().cast<float>();
  const MatrixD x = rows.cast<double>();
  const MatrixD centred = x.rowwise() - x.colwise().mean();
  for (const double shift : {0.0, 4.5}) {
    RowMoments first(VectorD::Constant(31, shift));
    RowMoments second(VectorD::Constant(31, shift));
    first.add(rows.topRows(40));
    second.add(rows.middleRows(40, 1));
    second.add(rows.bottomRows(49));
    first.merge(second);
    EXPECT_EQ(first.count(), 90);
    EXPECT_LT((first.mean() - x.colwise().mean().transpose()).cwiseAbs().maxCoeff(), 1e-13);
    const linalg::SymmetricPanels raw = first.raw_gram();
    const linalg::SymmetricPanels about_mean = first.centred_gram();
    const MatrixD expected_raw = x.transpose() * x;
    const MatrixD expected_centred = centred.transpose() * centred;
    for (Eigen::Index r = 0; r < 31; ++r) {
      for (Eigen::Index c = 0; c <= r; ++c) {
        EXPECT_NEAR(raw.at(r, c), expected_raw(r, c), 1e-10);
        EXPECT_NEAR(about_mean.at(r, c), expected_centred(r, c), 1e-10);
      }
    }
  }
}

}  // namespace
}  // namespace lime

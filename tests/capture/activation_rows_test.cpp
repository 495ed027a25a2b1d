// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_rows.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <vector>

#include "capture/row_accumulator.h"
#include "core/matrix.h"
#include "core/random.h"

namespace lime {
namespace {

/// [batch, seq, dim] with mean 100 and deviation 1: a single pass without a shift would lose
/// precision.
at::Tensor random_activation(std::int64_t batch, std::int64_t seq, std::int64_t dim) {
  at::Tensor tensor = at::empty({batch, seq, dim}, at::kFloat);
  Random random(7);
  float* const data = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = static_cast<float>(100.0 + random.normal());
  }
  return tensor;
}

/// Returns the rows that are not padding.
MatrixF valid_rows(const at::Tensor& activation, const std::vector<std::int64_t>& lengths) {
  const std::int64_t dim = activation.size(2);
  std::vector<float> rows;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const at::Tensor part = activation[static_cast<std::int64_t>(s)].narrow(0, 0, lengths[s]);
    const float* const data = part.data_ptr<float>();
    rows.insert(rows.end(), data, data + lengths[s] * dim);
  }
  return Eigen::Map<MatrixF>(rows.data(), static_cast<std::int64_t>(rows.size()) / dim, dim);
}

TEST(RowAccumulatorTest, AddsAndCopiesWhatIsNoPadding) {
  const at::Tensor activation = random_activation(3, 300, 45);
  const std::vector<std::int64_t> lengths = {300, 1, 129};
  const MatrixF expected = valid_rows(activation, lengths);
  MatrixF copy = MatrixF::Zero(expected.rows(), expected.cols());
  RunningStatistics statistics;
  RowAccumulator().add(ActivationRows(activation), lengths, copy.data(), statistics);
  EXPECT_EQ(copy, expected);
  const MatrixD exact = expected.cast<double>();
  const VectorD mean = exact.colwise().mean();
  const VectorD m2 = (exact.rowwise() - mean.transpose()).colwise().squaredNorm();
  EXPECT_EQ(statistics.count, 430);
  // Double throughout: rounding of 430 terms.
  EXPECT_LT((statistics.mean - mean).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT(((statistics.m2 - m2).array() / m2.array()).abs().maxCoeff(), 1e-12);
}

TEST(RowAccumulatorTest, IsEqualForAnyNumberOfThreads) {
  const at::Tensor activation = random_activation(4, 257, 64);
  const std::vector<std::int64_t> lengths(4, 257);
  const int before = at::get_num_threads();
  std::vector<RunningStatistics> results;
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    RowAccumulator().add(ActivationRows(activation), lengths, nullptr, results.emplace_back());
  }
  at::set_num_threads(before);
  EXPECT_EQ(results[0].mean, results[1].mean);
  EXPECT_EQ(results[0].m2, results[1].m2);
}

TEST(RowAccumulatorTest, ReadsHeadsOfAFusedProjectionInPlace) {
  // Columns 10 to 21 of 30, as three heads of four.
  const at::Tensor fused = random_activation(2, 5, 30);
  const at::Tensor heads = fused.narrow(2, 10, 12).unflatten(2, {3, 4});
  const ActivationRows rows(heads);
  EXPECT_EQ(rows.dim(), 12);
  EXPECT_EQ(rows.row(1, 3), fused.data_ptr<float>() + (5 + 3) * 30 + 10) << "no copy";
}

TEST(RowAccumulatorTest, ReadsTransposedHeadsAndOtherTypes) {
  const at::Tensor base = random_activation(2, 3, 20).unflatten(2, {5, 4});
  const at::Tensor transposed = base.transpose(1, 2);  // [2, 5, 3, 4]: positions are heads now
  const ActivationRows rows(transposed);
  EXPECT_EQ(rows.seq(), 5);
  EXPECT_EQ(rows.row(1, 2)[5], base[1][1][2][1].item<float>());
  const ActivationRows from_double(base.to(at::kDouble));
  EXPECT_EQ(from_double.row(0, 1)[3], base[0][1][0][3].item<float>());
}

TEST(RowAccumulatorTest, LetsNonFiniteNumbersShow) {
  at::Tensor activation = random_activation(1, 4, 33);
  activation[0][2][32] = std::numeric_limits<float>::quiet_NaN();
  RunningStatistics statistics;
  RowAccumulator().add(ActivationRows(activation), std::vector<std::int64_t>{4}, nullptr,
                       statistics);
  EXPECT_FALSE(statistics.m2.allFinite());
  RunningStatistics without;
  RowAccumulator().add(ActivationRows(activation), std::vector<std::int64_t>{2}, nullptr, without);
  EXPECT_TRUE(without.m2.allFinite());
}

TEST(MeanRowsTest, LeavesOutWhatDoesNotCount) {
  const at::Tensor activation = random_activation(2, 3, 6);
  const std::vector<std::vector<std::uint8_t>> counts = {{0, 1, 1}, {1}};
  MatrixF means(2, 6);
  mean_rows(ActivationRows(activation), counts, means.data());
  for (std::int64_t j = 0; j < 6; ++j) {
    const double expected =
        (activation[0][1][j].item<double>() + activation[0][2][j].item<double>()) / 2.0;
    EXPECT_EQ(means(0, j), static_cast<float>(expected));
    EXPECT_EQ(means(1, j), activation[1][0][j].item<float>());
  }
}

}  // namespace
}  // namespace lime

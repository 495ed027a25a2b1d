// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "metrics/random_matrix.h"
#include "metrics/tsne/grid_convolution.h"

namespace lime::tsne_detail {
namespace {

using linalg::kFloatLanes;

TEST(LaneFourierTest, EqualsTheSum) {
  for (const std::int64_t length : {1, 2, 3, 4, 5, 8, 12, 20, 64, 96, 80, 160}) {
    const LaneFourier fourier(length);
    const MatrixF real = testing::random_matrix(length, kFloatLanes, 1).cast<float>();
    const MatrixF imag = testing::random_matrix(length, kFloatLanes, 2).cast<float>();
    MatrixF buffer[4] = {real, imag, real, imag};
    const LaneFourier::Lanes result = fourier.transform({buffer[0].data(), buffer[1].data()},
                                                        {buffer[2].data(), buffer[3].data()});
    for (std::int64_t k = 0; k < length; ++k) {
      for (int lane = 0; lane < kFloatLanes; ++lane) {
        std::complex<double> sum = 0.0;
        for (std::int64_t j = 0; j < length; ++j) {
          const double angle = -2.0 * std::numbers::pi * static_cast<double>(j * k % length) /
                               static_cast<double>(length);
          sum += std::complex<double>(real(j, lane), imag(j, lane)) * std::polar(1.0, angle);
        }
        const double tolerance = 2e-6 * std::sqrt(static_cast<double>(length));
        EXPECT_NEAR(result.real[k * kFloatLanes + lane], sum.real(), tolerance) << length;
        EXPECT_NEAR(result.imag[k * kFloatLanes + lane], sum.imag(), tolerance) << length;
      }
    }
  }
}

TEST(LaneFourierTest, GoodLengthsAreTheNextProducts) {
  EXPECT_EQ(LaneFourier::good_length(1), 1);
  EXPECT_EQ(LaneFourier::good_length(64), 64);
  EXPECT_EQ(LaneFourier::good_length(65), 80);
  EXPECT_EQ(LaneFourier::good_length(81), 96);
  EXPECT_EQ(LaneFourier::good_length(97), 128);
}

/// At the nodes, splines of the charges and splines of the potentials give back the kernel.
TEST(GridConvolutionTest, GivesTheKernelBetweenNodes) {
  constexpr double kValues[] = {1.0 / 120, 26.0 / 120, 66.0 / 120, 26.0 / 120, 1.0 / 120};
  for (const auto& [rows, cols] : {std::pair{30, 50}, std::pair{64, 16}, std::pair{90, 100}}) {
    SpinPool pool(2);
    GridConvolution convolution(pool);
    convolution.set_shape({0.5, rows, cols});
    MatrixF grid = MatrixF::Zero(rows, convolution.stride());
    const int row = 5;
    const int col = 9;
    for (int r = -2; r <= 2; ++r) {
      for (int c = -2; c <= 2; ++c) {
        grid(row + r, col + c) = static_cast<float>(kValues[r + 2] * kValues[c + 2]);
      }
    }
    convolution.convolve(grid.data());
    for (int r = 2; r < rows - 2; ++r) {
      for (int c = 2; c < cols - 2; ++c) {
        double potential = convolution.offset();
        for (int i = -2; i <= 2; ++i) {
          for (int j = -2; j <= 2; ++j) {
            potential += kValues[i + 2] * kValues[j + 2] * static_cast<double>(grid(r + i, c + j));
          }
        }
        const double squared = 0.25 * ((r - row) * (r - row) + (c - col) * (c - col));
        EXPECT_NEAR(potential, 1.0 / (1.0 + squared), 1e-5) << r << ", " << c;
      }
    }
  }
}

}  // namespace
}  // namespace lime::tsne_detail

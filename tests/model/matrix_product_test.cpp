// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "model/kernels/linear.h"
#include "model/kernels/router_products.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::max_difference;

struct ProductShape {
  std::int64_t rows, inner, columns;
};

/// Near the sizes of tiles, panels and tasks.
constexpr ProductShape kShapes[] = {{1, 1, 1},    {12, 256, 32}, {13, 257, 33}, {48, 5, 31},
                                    {97, 600, 7}, {5, 300, 260}, {200, 64, 200}};

TEST(MatrixProductTest, IsLibTorchsForAnyStridesAndSizes) {
  const at::NoGradGuard no_grad;
  for (const auto& [rows, inner, columns] : kShapes) {
    const at::Tensor a = torch::randn({rows, inner}, torch::kDouble);
    const at::Tensor b = torch::randn({inner, columns}, torch::kDouble);
    const at::Tensor expected = torch::mm(a, b);
    for (const at::Tensor& left : {a, a.t().contiguous().t()}) {
      for (const at::Tensor& right : {b, b.t().contiguous().t()}) {
        const at::Tensor out = torch::full({rows, columns}, 7.0, torch::kDouble);
        matrix_product_out(out, left, right);
        EXPECT_LT(max_difference(out, expected), 1e-11) << rows << " " << inner << " " << columns;
        matrix_product_out(out, left, right, Accumulate::kYes);
        EXPECT_LT(max_difference(out, 2.0 * expected), 1e-11);
      }
    }
  }
}

TEST(MatrixProductTest, HasTheSameBitsForAnyNumberOfThreads) {
  const at::NoGradGuard no_grad;
  const at::Tensor a = torch::randn({300, 500});
  const at::Tensor b = torch::randn({500, 300});
  const auto product = [&](int threads) {
    at::set_num_threads(threads);
    const at::Tensor out = torch::empty({300, 300});
    matrix_product_out(out, a, b);
    return out;
  };
  const int usual = at::get_num_threads();
  EXPECT_TRUE(torch::equal(product(1), product(3)));
  at::set_num_threads(usual);
}

WideRows<const double> rows_of(const at::Tensor& matrix) {
  WideRows<const double> rows;
  for (std::int64_t i = 0; i < matrix.size(0); ++i) rows.push_back(matrix[i].data_ptr<double>());
  return rows;
}

TEST(RowProductsTest, AreThoseOfTheMatrices) {
  const at::NoGradGuard no_grad;
  for (const std::int64_t rows : {1, 3, 8, 13}) {
    const std::int64_t inner = 37;
    const std::int64_t columns = 1111;
    const at::Tensor left = torch::randn({rows, inner}, torch::kDouble);
    const at::Tensor right = torch::randn({inner, columns}, torch::kDouble);
    const at::Tensor own = torch::randn({rows, columns}, torch::kDouble);
    const at::Tensor out = torch::empty({rows, columns}, torch::kDouble);
    WideRows<double> out_rows;
    for (std::int64_t i = 0; i < rows; ++i) out_rows.push_back(out[i].data_ptr<double>());
    const std::vector<double> weights(left.data_ptr<double>(),
                                      left.data_ptr<double>() + left.numel());
    wide_rows_product(out_rows, weights, rows_of(right), columns);
    EXPECT_LT(max_difference(out, torch::mm(left, right)), 1e-11);

    out.zero_();
    const std::vector<double> dots =
        wide_rows_backward(out_rows, weights, rows_of(right), rows_of(own), columns);
    EXPECT_LT(max_difference(out, torch::mm(left, right)), 1e-11);
    const at::Tensor as_matrix = torch::tensor(dots, torch::kDouble).view({inner, rows});
    EXPECT_LT(max_difference(as_matrix, torch::mm(right, own.t())), 1e-11);
  }
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/first_token.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "metrics/geometry/lower_median.h"

namespace lime {
namespace {

/// Relative residual of the eigenpair.
constexpr double kTolerance = 1e-6;
constexpr int kMaxIterations = 300;
/// Iterations between two tests of convergence.
constexpr int kTestEvery = 4;
/// Rows that are converted to double at once, so that both products find them in the cache.
constexpr Eigen::Index kTileRows = 8;

VectorD gram_product(const ConstMatrixRef& x, const VectorD& v) {
  VectorD product = VectorD::Zero(v.size());
  MatrixD tile(kTileRows, x.cols());
  VectorD part(kTileRows);
  for (Eigen::Index r = 0; r < x.rows(); r += kTileRows) {
    const Eigen::Index count = std::min(kTileRows, x.rows() - r);
    tile.topRows(count) = x.middleRows(r, count).cast<double>();
    part.head(count).noalias() = tile.topRows(count) * v;
    product.noalias() += tile.topRows(count).transpose() * part.head(count);
  }
  return product;
}

}  // namespace

double largest_gram_eigenvalue(const ConstMatrixRef& rows) {
  Random random(0);
  VectorD v(rows.cols());
  for (double& value : v) value = random.normal();
  v.normalize();
  VectorD previous = VectorD::Zero(v.size());
  std::vector<double> diagonal;
  std::vector<double> below;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  for (int k = 1;; ++k) {
    VectorD next = gram_product(rows, v);
    if (!below.empty()) next -= below.back() * previous;
    diagonal.push_back(next.dot(v));
    next -= diagonal.back() * v;
    const double length = next.norm();
    const bool is_invariant = !(length > kTolerance * diagonal.front());
    if (is_invariant || k % kTestEvery == 0 || k == kMaxIterations) {
      solver.computeFromTridiagonal(Eigen::Map<const VectorD>(diagonal.data(), k),
                                    Eigen::Map<const VectorD>(below.data(), k - 1));
      const double largest = solver.eigenvalues()[k - 1];
      const double residual = length * std::abs(solver.eigenvectors()(k - 1, k - 1));
      if (is_invariant || residual <= kTolerance * largest || k == kMaxIterations) return largest;
    }
    below.push_back(length);
    previous = std::move(v);
    v = next / length;
  }
}

FirstToken measure_first_token(const ConstMatrixRef& rows) {
  throw_if(rows.rows() < 2, "first token: must have at least 2 tokens, got {}", rows.rows());
  VectorD squares(rows.rows());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    squares[r] = rows.row(r).cast<double>().squaredNorm();
  }
  const double middle = lower_median(squares);
  const auto share = [](const ConstMatrixRef& x, double trace) -> std::optional<double> {
    if (!(trace > 0.0)) return std::nullopt;
    return std::min(largest_gram_eigenvalue(x) / trace, 1.0);
  };
  const Eigen::Index others = rows.rows() - 1;
  FirstToken result;
  if (middle > 0.0) result.norm_ratio = std::sqrt(squares[0] / middle);
  result.top_share = share(rows, squares.sum());
  result.top_share_rest = share(rows.bottomRows(others), squares.tail(others).sum());
  return result;
}

}  // namespace lime

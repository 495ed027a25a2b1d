// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/lidar.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/options.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {
namespace {

/// Subtracts from rows the mean of their class and stores the means in `means`, [num_classes, dim].
MatrixD within_classes(const ConstMatrixRef& rows, std::int64_t num_classes, MatrixD& means) {
  const Eigen::Index size = rows.rows() / num_classes;
  MatrixD within = rows.cast<double>();
  means.resize(num_classes, rows.cols());
  for (Eigen::Index c = 0; c < num_classes; ++c) {
    means.row(c) = within.middleRows(c * size, size).colwise().mean();
    within.middleRows(c * size, size).rowwise() -= means.row(c);
  }
  return within;
}

MatrixD scatter(const MatrixD& within, double factor, double delta) {
  linalg::SymmetricSlivers gram;
  gram.resize(within.cols());
  gram.values().setZero();
  linalg::GramBuilder().add_feature_gram(linalg::affine_rows(within), gram);
  MatrixD result(within.cols(), within.cols());
  for (Eigen::Index r = 0; r < result.rows(); ++r) {
    for (Eigen::Index c = 0; c <= r; ++c) result(r, c) = result(c, r) = gram.at(r, c) * factor;
    result(r, r) += delta;
  }
  return result;
}

}  // namespace

void LidarOptions::validate() const {
  check_option(delta > 0.0 && std::isfinite(delta), "lidar_delta", "> 0", delta);
  check_option(epsilon >= 0.0 && std::isfinite(epsilon), "lidar_epsilon", ">= 0", epsilon);
}

double lidar(const ConstMatrixRef& rows, std::int64_t num_classes, const LidarOptions& options) {
  options.validate();
  throw_if(
      num_classes < 2 || rows.rows() % num_classes != 0 || rows.rows() / num_classes < 2,
      "lidar: needs at least 2 classes of equal size with at least 2 rows each, got {} rows for "
      "{} classes",
      rows.rows(), num_classes);
  if (!rows.allFinite()) throw InvalidArgument("lidar: every value must be finite");
  MatrixD means;
  const MatrixD within = within_classes(rows, num_classes, means);
  const auto freedom = static_cast<double>(rows.rows() - num_classes);
  const Eigen::LLT<MatrixD> cholesky(scatter(within, 1.0 / freedom, options.delta));
  throw_if<NumericalError>(cholesky.info() != Eigen::Success,
                           "lidar: the within-class scatter is not positive definite");
  // L^-1 (mu_c - mu) / sqrt(n - 1): the Gram matrix of these has the required eigenvalues.
  means.rowwise() -= means.colwise().mean().eval();
  means /= std::sqrt(static_cast<double>(num_classes - 1));
  MatrixD between = means.transpose();
  cholesky.matrixL().solveInPlace(between);
  const MatrixD whitened = between.transpose();
  linalg::SymmetricSlivers gram;
  linalg::GramBuilder().smaller_gram(linalg::affine_rows(whitened), gram);
  linalg::SymmetricEigenvalues solver;
  VectorD eigenvalues = VectorD::Zero(rows.cols());
  Eigen::Index index = 0;
  for (const double value : solver.compute(gram)) eigenvalues[index++] = std::max(value, 0.0);
  const VectorD shifted = eigenvalues.array() + options.epsilon;
  const double sum = shifted.sum();
  if (!(sum > 0.0)) throw InvalidArgument("lidar: all classes have the same mean");
  double entropy = 0.0;
  for (const double value : shifted) {
    if (value > 0.0) entropy -= value / sum * std::log(value / sum);
  }
  return std::exp(entropy);
}

}  // namespace lime

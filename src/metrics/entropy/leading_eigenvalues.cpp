// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/leading_eigenvalues.h"

#include <Spectra/SymEigsSolver.h>

#include <algorithm>

namespace lime {
namespace {

/// Relative residual of an eigenpair; the error of the eigenvalue is of the order of its square.
constexpr double kTolerance = 1e-10;
/// Relative error by which an eigenvalue of the second run may exceed the smallest one.
constexpr double kSlack = 1e-8;
constexpr Eigen::Index kMaxRestarts = 300;

/// Operator x -> A A^T x - U diag(lambda) U^T x on the smaller side of Z, for Spectra.
class DeflatedGramProduct {
 public:
  using Scalar = double;

  explicit DeflatedGramProduct(const MatrixD& z) : z_(z) {}

  Eigen::Index rows() const { return std::min(z_.rows(), z_.cols()); }
  Eigen::Index cols() const { return rows(); }

  void deflate(Eigen::MatrixXd vectors, VectorD values) {
    vectors_ = std::move(vectors);
    values_ = std::move(values);
  }

  void perform_op(const double* in, double* out) const {
    const Eigen::Map<const VectorD> x(in, rows());
    Eigen::Map<VectorD> y(out, rows());
    if (z_.rows() <= z_.cols()) {
      y.noalias() = z_ * (z_.transpose() * x).eval();
    } else {
      y.noalias() = z_.transpose() * (z_ * x).eval();
    }
    if (values_.size() > 0) {
      y.noalias() -= vectors_ * (values_.array() * (vectors_.transpose() * x).array()).matrix();
    }
  }

 private:
  const MatrixD& z_;
  Eigen::MatrixXd vectors_;
  VectorD values_;
};

using Solver = Spectra::SymEigsSolver<DeflatedGramProduct>;

/// Returns the number of Lanczos vectors for `count` eigenvalues of a matrix of this size.
Eigen::Index subspace_size(Eigen::Index count, Eigen::Index size) {
  return std::min(size, std::max<Eigen::Index>(2 * count + 1, 20));
}

bool converge(Solver& solver) {
  solver.init();
  solver.compute(Spectra::SortRule::LargestAlge, kMaxRestarts, kTolerance);
  return solver.info() == Spectra::CompInfo::Successful;
}

}  // namespace

std::optional<std::vector<double>> leading_gram_eigenvalues(const MatrixD& rows,
                                                            std::int64_t count) {
  DeflatedGramProduct product(rows);
  // Beyond half of the spectrum the full solution is cheaper.
  if (2 * count >= product.rows()) return std::nullopt;
  Solver solver(product, count, subspace_size(count, product.rows()));
  if (!converge(solver)) return std::nullopt;
  const VectorD values = solver.eigenvalues();

  product.deflate(solver.eigenvectors(), values);
  Solver check(product, 1, subspace_size(1, product.rows()));
  if (!converge(check)) return std::nullopt;
  const double smallest = values[count - 1];
  if (check.eigenvalues()[0] > smallest + kSlack * values[0]) return std::nullopt;

  std::vector<double> result(values.data(), values.data() + count);
  for (double& value : result) value = std::max(value, 0.0);
  return result;
}

}  // namespace lime

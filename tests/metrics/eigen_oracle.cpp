// SPDX-License-Identifier: Apache-2.0
#include "metrics/eigen_oracle.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "metrics/random_matrix.h"

namespace lime::testing {

VectorD eigenvalues_by_eigen(const MatrixD& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly)
      .eigenvalues();
}

VectorD singular_values_by_eigen(const MatrixD& matrix) {
  return Eigen::JacobiSVD<Eigen::MatrixXd>(matrix).singularValues();
}

MatrixD random_rotation(Eigen::Index size, std::uint64_t seed) {
  const Eigen::MatrixXd start = random_matrix(size, size, seed);
  return Eigen::HouseholderQR<Eigen::MatrixXd>(start).householderQ();
}

}  // namespace lime::testing

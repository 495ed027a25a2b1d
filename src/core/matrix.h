// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace lime {

/// Row-major matrices: one row is one token (or sentence), as in the capture file.
using MatrixF = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixD = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using VectorD = Eigen::VectorXd;

/// Const views that accept a matrix, a block of rows or a mapped buffer without a copy.
using ConstMatrixRef = Eigen::Ref<const MatrixF, 0, Eigen::OuterStride<>>;
using ConstMatrixRefD = Eigen::Ref<const MatrixD, 0, Eigen::OuterStride<>>;

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace lime {

/// A matrix whose rows lie one after another, as those of tensors do.
template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Rows of a tensor, which may have others between them.
template <typename T>
using RowMajorView = Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <typename T>
using ConstRowMajorView = Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

}  // namespace lime

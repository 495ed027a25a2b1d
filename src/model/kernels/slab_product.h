// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>

namespace lime {

/// Maximum number of terms of a product that are added one after the other.
///
/// The relative error of a sum of n terms with random signs is about 2.6e-8 sqrt(n / 2) in float32,
/// because every addition rounds a partial sum. Eigen adds up to 576 terms in a row, PyTorch with
/// MKL 192. With this bound a product has the error of PyTorch's (docs/numerics.md).
inline constexpr Eigen::Index kMaxSlab = 192;

/// Returns the inner elements per slab of a product, see slab_product().
template <typename A, typename B> Eigen::Index slab_depth(const A& a, const B& b) {
  const Eigen::Index inner = a.cols();
  if (a.rows() == 1 || b.cols() == 1 || inner <= kMaxSlab) return inner;
  const Eigen::Index slabs = (inner + kMaxSlab - 1) / kMaxSlab;
  return (inner + slabs - 1) / slabs;
}

/// Adds the slabs from inner element `first` on.
template <typename Out, typename A, typename B>
void add_slabs(Out&& out, const A& a, const B& b, Eigen::Index first, Eigen::Index depth) {
  for (; first < a.cols(); first += depth) {
    const Eigen::Index size = std::min(depth, a.cols() - first);
    out.noalias() += a.middleCols(first, size) * b.middleRows(first, size);
  }
}

/// Computes out = a b, where the inner dimension is divided into slabs of equal size, at most
/// kMaxSlab each: first the sum over each slab, then the sum of those. The order depends only on
/// the shapes.
///
/// A product with a vector is not divided: Eigen adds its terms in as many sums as a register has
/// lanes, or in blocks of 16.
template <typename Out, typename A, typename B>
void slab_product(Out&& out, const A& a, const B& b) {
  const Eigen::Index depth = slab_depth(a, b);
  out.noalias() = a.leftCols(depth) * b.topRows(depth);
  add_slabs(out, a, b, depth, depth);
}

/// Computes out += a b in the same way.
template <typename Out, typename A, typename B>
void add_slab_product(Out&& out, const A& a, const B& b) {
  add_slabs(out, a, b, 0, slab_depth(a, b));
}

}  // namespace lime

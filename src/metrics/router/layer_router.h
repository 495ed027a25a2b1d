// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// Router of one layer: a weight per pair of heads, or one per pair and dimension.
///
///   dimension c of routed head h = sum_j R_c[h, j] * dimension c of buffered head j
///
/// R is [kv_heads, (layer + 1) * kv_heads]: row = target head, column = source_layer * kv_heads +
/// source_head, oldest layer first. Without a weight per dimension all R_c are the same matrix.
class LayerRouter {
 public:
  /// A weight per pair of heads: the matrix is the router, hence not explicit.
  LayerRouter(MatrixD weights);  // NOLINT(google-explicit-constructor)
  /// @param per_dimension  R_c of every dimension of a head, of equal shape.
  /// @throws InvalidArgument  if there is none, or shapes differ.
  explicit LayerRouter(std::vector<MatrixD> per_dimension);
  /// Returns the router whose heads read themselves. @param num_dims  matrices: 1, or head_dim.
  static LayerRouter identity(std::int64_t layer, std::int64_t num_key_value_heads,
                              std::int64_t num_dims = 1);

  std::int64_t num_heads() const { return weights_.front().rows(); }
  std::int64_t num_sources() const { return weights_.front().cols(); }
  /// Returns the number of matrices: 1, or head_dim.
  std::int64_t num_dims() const { return static_cast<std::int64_t>(weights_.size()); }
  bool is_per_dimension() const { return weights_.size() > 1; }

  const MatrixD& of_dimension(std::int64_t dim) const {
    return weights_[is_per_dimension() ? static_cast<std::size_t>(dim) : 0];
  }
  bool is_zero() const;
  bool operator==(const LayerRouter& other) const;

 private:
  std::vector<MatrixD> weights_;
};

}  // namespace lime

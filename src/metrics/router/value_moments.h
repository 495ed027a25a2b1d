// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/running_statistics.h"
#include "core/threads/thread_pool.h"
#include "metrics/router/value_buffer.h"

namespace lime {

/// First and second moments of buffered values over a dataset. They determine mean and variance of
/// the routed values for every router: routed values are linear in them.
///
///   u = R v per dimension c:   mean(u) = R mean(v),   m2(u)_h = R_h M_c R_h^T,
///   M_c = sum over tokens of (v_c - mean(v_c)) (v_c - mean(v_c))^T,   [num_sources, num_sources]
///
/// So one pass over the values serves any number of routers, exactly. Sums are shifted by the first
/// token, in double.
class ValueMoments {
 public:
  /// Accumulates dimensions [first_dim, first_dim + num_dims) of the heads of `values`: a range,
  /// since each dimension needs num_sources^2 doubles.
  /// @throws InvalidArgument  if the range exceeds the head.
  ValueMoments(const ValueBuffer& values, std::int64_t first_dim, std::int64_t num_dims);

  /// Adds the tokens of `values`. Each dimension is processed by one thread: results are
  /// bit-identical for any number of threads.
  void add(const ValueBuffer& values, ThreadPool& pool);

  std::int64_t count() const { return count_; }
  /// Returns the bytes per dimension of a head.
  static std::int64_t bytes_per_dim(std::int64_t num_sources);

  /// Returns the statistics of the values routed by `router`, in the order of ValueRouter::route:
  /// entry (c - first_dim) * kv_heads + h. Thread-safe.
  /// @throws InvalidArgument  if no token was added or the router has too many columns.
  RunningStatistics routed(const LayerRouter& router) const;

 private:
  std::int64_t first_dim_;
  std::int64_t num_sources_;
  std::int64_t count_ = 0;
  std::vector<VectorD> shift_;     ///< per dimension, [num_sources]
  std::vector<VectorD> sum_;       ///< of values minus shift
  std::vector<MatrixD> products_;  ///< lower triangles of sums of their products
};

}  // namespace lime

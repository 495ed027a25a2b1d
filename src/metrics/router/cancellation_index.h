// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/value_buffer.h"
#include "metrics/router/value_router.h"

namespace lime {

/// Measures the cancellation among the contributions of buffered heads to a target head.
///
///   index = 1 - ||sum_j R_hj v_j|| / sum_j ||R_hj v_j||,   averaged over tokens
///
/// R_hj is a number, or a diagonal matrix for a router per dimension.
///
/// 0: all contributions have the same direction; 1: they cancel completely. m contributions of
/// equal norm in random high-dimensional directions give 1 - 1/sqrt(m). Invariant to the scaling of
/// heads. Accumulates over any number of buffers; not thread-safe.
class CancellationIndex {
 public:
  explicit CancellationIndex(std::int64_t num_key_value_heads);

  /// Adds tokens of `values` under the router of one layer.
  /// @throws InvalidArgument  as ValueRouter::route().
  void add(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens);
  void merge(const CancellationIndex& other);

  /// Returns the mean of each target head, [kv_heads]; NaN for a head without contributions.
  VectorD mean() const;
  std::int64_t count(std::int64_t head) const { return count_(head); }

 private:
  VectorD sum_;
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1> count_;
  ValueRouter router_;
  MatrixD routed_;
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "metrics/router/value_buffer.h"

namespace lime {

/// How much of what the buffered heads contribute to a target head cancels out.
///
///   index = 1 - ||sum_j R_hj v_j|| / sum_j ||R_hj v_j||,   averaged over tokens
///
/// R_hj is a number, or of a router per dimension a diagonal matrix.
///
/// 0: all contributions point the same way; 1: nothing is left of them. Contributions of m equal
/// sizes in random directions of many dimensions give 1 - 1/sqrt(m). Does not depend on how heads
/// are scaled. Gathers over any number of buffers; not thread-safe.
class CancellationIndex {
 public:
  explicit CancellationIndex(std::int64_t num_key_value_heads);

  /// Adds tokens of `values` under the router of one layer.
  /// @throws InvalidArgument  as ValueRouter::route().
  void add(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens);
  void merge(const CancellationIndex& other);

  /// The mean of each target head, [kv_heads]; NaN for a head that no token contributes to.
  VectorD mean() const;
  std::int64_t count(std::int64_t head) const { return count_(head); }

 private:
  VectorD sum_;
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1> count_;
  ValueRouter router_;
  MatrixD routed_;
};

}  // namespace lime

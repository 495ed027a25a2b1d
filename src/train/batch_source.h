// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lime {

struct TokenBatch {
  /// int64 [batch, seq], padded on the right.
  at::Tensor ids;
  /// int64 [batch, seq]: the token after each of `ids`; kIgnoredTarget if excluded from the loss
  /// (padding, prompt).
  at::Tensor targets;
  std::int64_t num_targets = 0;
  /// Number of `ids` that are not padding, >= num_targets.
  std::int64_t num_tokens = 0;
};

/// Training data, in an order determined by a seed: batch(epoch, index) always returns the same
/// batch, so that a resumed run needs to know only its step.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  virtual std::int64_t batches_per_epoch() const = 0;
  /// @param epoch  from 0. @param index  from 0 to batches_per_epoch() - 1.
  virtual TokenBatch batch(std::int64_t epoch, std::int64_t index) = 0;
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "train/batch_source.h"

namespace lime {

struct TokenSequence {
  std::vector<std::int32_t> ids;
  /// Only tokens from this index on are targets; >= 1, as the first token has no predecessor.
  std::int64_t first_target = 1;
};

/// Batches of whole sequences of similar length, to reduce padding.
///
/// Each epoch shuffles all sequences, sorts ranges of 32 batches by length, splits them into
/// batches and shuffles the batches. The last batch of an epoch may be smaller.
class SequenceBatches final : public BatchSource {
 public:
  struct Options {
    std::int64_t batch_size = 128;  ///< sequences per batch, >= 1
    std::uint64_t seed = 0;
    std::int32_t pad_id = 0;  ///< any token: no earlier position attends to padding
    bool shuffle = true;      ///< false: in the given order, sorted by length within ranges
  };

  /// @throws InvalidArgument  if there are no sequences, or one has no target.
  SequenceBatches(std::vector<TokenSequence> sequences, const Options& options);

  std::int64_t batches_per_epoch() const override;
  TokenBatch batch(std::int64_t epoch, std::int64_t index) override;

  std::int64_t num_sequences() const { return static_cast<std::int64_t>(sequences_.size()); }

 private:
  void arrange(std::int64_t epoch);

  std::vector<TokenSequence> sequences_;
  Options options_;
  std::int64_t arranged_epoch_ = -1;
  std::vector<std::vector<std::int64_t>> batches_;  // of the current epoch
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "train/batch_source.h"
#include "train/token_shards.h"

namespace lime {

/// Batches of sequences of equal length, cut from one long list of tokens: no padding.
///
/// Sequence i is tokens [i * length, (i + 1) * length], of which the last is only a target, so that
/// each token but the first is a target once per epoch; the remainder at the end is unused. Each
/// epoch shuffles the sequences. A sequence may cross a document boundary; attention is not masked
/// there.
class PackedBatches final : public BatchSource {
 public:
  struct Options {
    std::int64_t sequence_length = 256;  ///< context length in tokens, >= 1
    std::int64_t batch_size = 128;       ///< sequences per batch, >= 1; the last may have fewer
    std::uint64_t seed = 0;
    bool shuffle = true;
  };

  /// The tokens must outlive this object.
  /// @param what  names the tokens in errors, e.g. "training text".
  /// @throws InvalidArgument  if there are too few tokens for one sequence.
  PackedBatches(const TokenShards& tokens, const Options& options, const char* what);

  std::int64_t num_sequences() const { return static_cast<std::int64_t>(order_.size()); }
  std::int64_t batches_per_epoch() const override;
  TokenBatch batch(std::int64_t epoch, std::int64_t index) override;

 private:
  void arrange(std::int64_t epoch);

  const TokenShards& tokens_;
  Options options_;
  std::int64_t arranged_epoch_ = -1;
  std::vector<std::int64_t> order_;  ///< of the current epoch
};

}  // namespace lime

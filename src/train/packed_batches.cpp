// SPDX-License-Identifier: Apache-2.0
#include "train/packed_batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "core/errors.h"
#include "core/options.h"
#include "core/random.h"

namespace lime {

PackedBatches::PackedBatches(const TokenShards& tokens, const Options& options, const char* what)
    : tokens_(tokens), options_(options) {
  check_option(options_.sequence_length >= 1, "sequence_length", ">= 1", options_.sequence_length);
  check_option(options_.batch_size >= 1, "batch_size", ">= 1", options_.batch_size);
  const std::int64_t count = (tokens.size() - 1) / options_.sequence_length;
  throw_if(
      tokens.size() < 2 || count < 1,
      "{}: must have at least {} tokens, one sequence and its last target, got {}; add text or "
      "lower --sequence-length",
      what, options_.sequence_length + 1, tokens.size());
  order_.resize(static_cast<std::size_t>(count));
}

std::int64_t PackedBatches::batches_per_epoch() const {
  return (num_sequences() + options_.batch_size - 1) / options_.batch_size;
}

void PackedBatches::arrange(std::int64_t epoch) {
  if (epoch == arranged_epoch_) return;
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.shuffle) {
    Random random = Random(options_.seed).fork(static_cast<std::uint64_t>(epoch));
    random.shuffle<std::int64_t>(order_);
  }
  arranged_epoch_ = epoch;
}

TokenBatch PackedBatches::batch(std::int64_t epoch, std::int64_t index) {
  arrange(epoch);
  const std::int64_t first = index * options_.batch_size;
  const std::int64_t rows = std::min(options_.batch_size, num_sequences() - first);
  const std::int64_t columns = options_.sequence_length;
  TokenBatch batch;
  batch.ids = at::empty({rows, columns}, at::kLong);
  batch.targets = at::empty({rows, columns}, at::kLong);
  batch.num_targets = rows * columns;
  batch.num_tokens = rows * columns;
  auto* ids = batch.ids.data_ptr<std::int64_t>();
  auto* targets = batch.targets.data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = order_[static_cast<std::size_t>(first + row)] * columns;
    const auto size = static_cast<std::size_t>(columns);
    tokens_.copy(begin, std::span(ids + row * columns, size));
    tokens_.copy(begin + 1, std::span(targets + row * columns, size));
  }
  return batch;
}

}  // namespace lime

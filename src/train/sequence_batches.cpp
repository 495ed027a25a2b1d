// SPDX-License-Identifier: Apache-2.0
#include "train/sequence_batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "core/errors.h"
#include "core/options.h"
#include "core/random.h"
#include "model/passes/output_head.h"

namespace lime {
namespace {

constexpr std::int64_t kBatchesPerStretch = 32;

}  // namespace

SequenceBatches::SequenceBatches(std::vector<TokenSequence> sequences, const Options& options)
    : sequences_(std::move(sequences)), options_(options) {
  check_option(options_.batch_size >= 1, "batch_size", ">= 1", options_.batch_size);
  throw_if(sequences_.empty(), "training data: at least one sequence is needed, got none");
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    const auto length = static_cast<std::int64_t>(sequences_[i].ids.size());
    const std::int64_t first = sequences_[i].first_target;
    throw_if(
        first < 1 || first >= length,
        "training data: sequence {} of {} tokens must have a target after its first token, got "
        "the first one at {}",
        i, length, first);
  }
}

std::int64_t SequenceBatches::batches_per_epoch() const {
  return (num_sequences() + options_.batch_size - 1) / options_.batch_size;
}

void SequenceBatches::arrange(std::int64_t epoch) {
  if (epoch == arranged_epoch_) return;
  std::vector<std::int64_t> order(sequences_.size());
  std::iota(order.begin(), order.end(), 0);
  Random random = Random(options_.seed).fork(static_cast<std::uint64_t>(epoch));
  if (options_.shuffle) random.shuffle<std::int64_t>(order);

  const auto length = [&](std::int64_t i) {
    return sequences_[static_cast<std::size_t>(i)].ids.size();
  };
  const auto stretch = static_cast<std::size_t>(options_.batch_size * kBatchesPerStretch);
  for (std::size_t begin = 0; begin < order.size(); begin += stretch) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        order.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, order.size()));
    std::stable_sort(first, last, [&](auto a, auto b) { return length(a) < length(b); });
  }
  batches_.clear();
  const auto size = static_cast<std::size_t>(options_.batch_size);
  for (std::size_t begin = 0; begin < order.size(); begin += size) {
    const std::span<const std::int64_t> part = std::span(order).subspan(begin);
    const auto selected = part.first(std::min(size, part.size()));
    batches_.emplace_back(selected.begin(), selected.end());
  }
  if (options_.shuffle) random.shuffle<std::vector<std::int64_t>>(batches_);
  arranged_epoch_ = epoch;
}

TokenBatch SequenceBatches::batch(std::int64_t epoch, std::int64_t index) {
  arrange(epoch);
  const auto& selected = batches_.at(static_cast<std::size_t>(index));
  std::size_t longest = 0;
  for (const std::int64_t i : selected) {
    longest = std::max(longest, sequences_[static_cast<std::size_t>(i)].ids.size());
  }
  const auto rows = static_cast<std::int64_t>(selected.size());
  const auto columns = static_cast<std::int64_t>(longest) - 1;
  TokenBatch batch;
  batch.ids = at::full({rows, columns}, options_.pad_id, at::kLong);
  batch.targets = at::full({rows, columns}, kIgnoredTarget, at::kLong);
  auto* ids = batch.ids.data_ptr<std::int64_t>();
  auto* targets = batch.targets.data_ptr<std::int64_t>();
  for (const std::int64_t i : selected) {
    const TokenSequence& sequence = sequences_[static_cast<std::size_t>(i)];
    const std::size_t length = sequence.ids.size();
    std::copy(sequence.ids.begin(), sequence.ids.end() - 1, ids);
    for (auto t = static_cast<std::size_t>(sequence.first_target); t < length; ++t) {
      targets[t - 1] = sequence.ids[t];
    }
    batch.num_targets += static_cast<std::int64_t>(length) - sequence.first_target;
    batch.num_tokens += static_cast<std::int64_t>(length) - 1;
    ids += columns;
    targets += columns;
  }
  return batch;
}

}  // namespace lime

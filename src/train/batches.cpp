// SPDX-License-Identifier: Apache-2.0
#include "train/batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <ostream>

#include "core/files/atomic_file.h"
#include "core/random.h"

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

namespace {

/// Calls `run` with a number of the type in which ids are stored.
template <typename Run> void with_stored_type(int bytes_per_token, const Run& run) {
  bytes_per_token == 2 ? run(std::uint16_t{}) : run(std::uint32_t{});
}

}  // namespace

TokenShards::TokenShards(std::span<const std::filesystem::path> files, int bytes_per_token)
    : bytes_per_token_(bytes_per_token) {
  for (const std::filesystem::path& file : files) {
    files_.emplace_back(file);
    const auto bytes = static_cast<std::int64_t>(files_.back().size());
    throw_if<FormatError>(bytes % bytes_per_token != 0,
                          "'{}': must contain ids of {} bytes each, got {} bytes; tokenise again",
                          file.string(), bytes_per_token, bytes);
    ends_.push_back(size() + bytes / bytes_per_token);
  }
}

void TokenShards::copy(std::int64_t begin, std::span<std::int64_t> ids) const {
  throw_if(begin < 0 || begin + static_cast<std::int64_t>(ids.size()) > size(),
           "tokens: {} to {} must be within the {} available tokens", begin,
           begin + static_cast<std::int64_t>(ids.size()), size());
  auto file = static_cast<std::size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
  while (!ids.empty()) {
    const std::int64_t file_begin = file == 0 ? 0 : ends_[file - 1];
    const std::size_t count = std::min(ids.size(), static_cast<std::size_t>(ends_[file] - begin));
    const std::byte* const stored =
        files_[file].bytes().data() + (begin - file_begin) * bytes_per_token_;
    with_stored_type(bytes_per_token_, [&](auto id) {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&id, stored + i * sizeof(id), sizeof(id));
        ids[i] = id;
      }
    });
    ids = ids.subspan(count);
    begin += static_cast<std::int64_t>(count);
    ++file;
  }
}

void write_token_shard(const std::filesystem::path& file, std::span<const std::int32_t> ids,
                       int bytes_per_token) {
  constexpr std::size_t kIdsAtOnce = 1 << 16;
  write_file_atomically(file, [&](std::ostream& stream) {
    with_stored_type(bytes_per_token, [&](auto id) {
      std::vector<decltype(id)> narrow;
      for (std::size_t begin = 0; begin < ids.size(); begin += kIdsAtOnce) {
        const auto part = ids.subspan(begin, std::min(kIdsAtOnce, ids.size() - begin));
        narrow.assign(part.begin(), part.end());
        stream.write(reinterpret_cast<const char*>(narrow.data()),
                     static_cast<std::streamsize>(narrow.size() * sizeof(id)));
      }
    });
  });
}

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

// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_steps.h"

#include <algorithm>

namespace lime {
namespace {

CaptureBatch make_batch(const CaptureSetup& setup, const std::vector<std::int64_t>& sequences) {
  CaptureBatch batch;
  batch.sequences = sequences;
  for (const std::int64_t s : sequences) {
    batch.lengths.push_back(setup.input.length(s));
    if (setup.plan.info.rows != RowKind::kMean) continue;
    const auto prepended = setup.input.is_prepended_of(s);
    std::vector<std::uint8_t>& counts = batch.counts.emplace_back();
    for (const std::uint8_t is_prepended : prepended) counts.push_back(is_prepended == 0 ? 1 : 0);
    // A sequence of prepended tokens only is averaged over all of them.
    if (std::find(counts.begin(), counts.end(), 1) == counts.end()) counts.assign(counts.size(), 1);
  }
  return batch;
}

}  // namespace

std::vector<std::int64_t> CaptureStep::sequences() const {
  std::vector<std::int64_t> all;
  for (const ShardBatch& part : parts) {
    all.insert(all.end(), part.batch.sequences.begin(), part.batch.sequences.end());
  }
  return all;
}

std::vector<std::int64_t> CaptureStep::lengths() const {
  std::vector<std::int64_t> all;
  for (const ShardBatch& part : parts) {
    all.insert(all.end(), part.batch.lengths.begin(), part.batch.lengths.end());
  }
  return all;
}

std::int64_t CaptureStep::num_tokens() const {
  std::int64_t sum = 0;
  for (const ShardBatch& part : parts) sum += part.batch.num_tokens();
  return sum;
}

ShardSteps::ShardSteps(const CaptureSetup& setup, int shard, std::size_t place, bool is_missing)
    : setup_(setup), shard_(shard), place_(place), is_missing_(is_missing) {
  const SequenceRange range = setup.shards[static_cast<std::size_t>(shard)];
  for (CaptureWindow& window : plan_windows(setup.input, range, setup.windows)) {
    windows_.push_back(std::make_shared<const CaptureWindow>(std::move(window)));
  }
}

ShardBatch ShardSteps::next() {
  ShardBatch part{.shard = shard_,
                  .place = place_,
                  .is_missing = is_missing_,
                  .window = windows_[window_],
                  .batch = {}};
  part.batch = make_batch(setup_, part.window->batches[batch_]);
  part.begins_window = batch_ == 0;
  part.begins_shard = part.begins_window && window_ == 0;
  part.ends_window = batch_ + 1 == part.window->batches.size();
  if (part.ends_window) {
    ++window_;
    batch_ = 0;
  } else {
    ++batch_;
  }
  part.ends_shard = is_done();
  return part;
}

CaptureSteps::CaptureSteps(const CaptureSetup& setup, const std::vector<int>& missing_shards)
    : setup_(setup), is_missing_(setup.shards.size(), false) {
  for (const int shard : missing_shards) is_missing_[static_cast<std::size_t>(shard)] = true;
}

std::size_t CaptureSteps::end_of_round(std::size_t first) const {
  return std::min(first + static_cast<std::size_t>(setup_.shards_at_once), is_missing_.size());
}

bool CaptureSteps::has_missing(std::size_t first) const {
  for (std::size_t shard = first; shard < end_of_round(first); ++shard) {
    if (is_missing_[shard]) return true;
  }
  return false;
}

std::int64_t CaptureSteps::num_tokens() const {
  const std::vector<std::int64_t>& offsets = setup_.input.offsets;
  std::int64_t tokens = 0;
  for (std::size_t first = 0; first < is_missing_.size(); first = end_of_round(first)) {
    if (!has_missing(first)) continue;
    const SequenceRange last = setup_.shards[end_of_round(first) - 1];
    tokens += offsets[static_cast<std::size_t>(last.first + last.count)] -
              offsets[static_cast<std::size_t>(setup_.shards[first].first)];
  }
  return tokens;
}

bool CaptureSteps::begin_round() {
  round_.clear();
  while (round_.empty() && next_shard_ < is_missing_.size()) {
    const std::size_t first = std::exchange(next_shard_, end_of_round(next_shard_));
    if (!has_missing(first)) continue;
    for (std::size_t shard = first; shard < next_shard_; ++shard) {
      round_.emplace_back(setup_, static_cast<int>(shard), shard - first, is_missing_[shard]);
    }
  }
  return !round_.empty();
}

std::optional<CaptureStep> CaptureSteps::next() {
  if (std::ranges::all_of(round_, &ShardSteps::is_done) && !begin_round()) return std::nullopt;
  CaptureStep step;
  for (ShardSteps& shard : round_) {
    if (!shard.is_done()) step.parts.push_back(shard.next());
  }
  return step;
}

std::shared_ptr<const CaptureStep> SharedCaptureSteps::next(Reader reader) {
  const std::scoped_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(reader);
  Queue& mine = waiting_[index];
  if (mine.empty()) {
    std::optional<CaptureStep> step = steps_.next();
    if (!step) return nullptr;
    auto shared = std::make_shared<const CaptureStep>(std::move(*step));
    waiting_[1 - index].push_back(shared);
    return shared;
  }
  std::shared_ptr<const CaptureStep> step = std::move(mine.front());
  mine.pop_front();
  return step;
}

}  // namespace lime

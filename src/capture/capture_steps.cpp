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

CaptureSteps::CaptureSteps(const CaptureSetup& setup, std::vector<int> shards)
    : setup_(setup), shards_(std::move(shards)) {}

bool CaptureSteps::begin_shard() {
  if (shard_ == shards_.size()) return false;
  const SequenceRange range = setup_.shards[static_cast<std::size_t>(shards_[shard_++])];
  windows_.clear();
  for (CaptureWindow& window : plan_windows(setup_.input, range, setup_.windows)) {
    windows_.push_back(std::make_shared<const CaptureWindow>(std::move(window)));
  }
  window_ = 0;
  batch_ = 0;
  return true;
}

std::optional<CaptureStep> CaptureSteps::next() {
  if (window_ == windows_.size() && !begin_shard()) return std::nullopt;
  CaptureStep step;
  step.shard = shards_[shard_ - 1];
  step.window = windows_[window_];
  step.batch = make_batch(setup_, step.window->batches[batch_]);
  step.begins_window = batch_ == 0;
  step.begins_shard = step.begins_window && window_ == 0;
  step.ends_window = batch_ + 1 == step.window->batches.size();
  if (step.ends_window) {
    ++window_;
    batch_ = 0;
  } else {
    ++batch_;
  }
  step.ends_shard = window_ == windows_.size();
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

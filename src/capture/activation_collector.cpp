// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_collector.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace lime {
namespace {

bool is_key_or_value(HookKind kind) {
  return kind == HookKind::kK || kind == HookKind::kV || kind == HookKind::kRoutedK ||
         kind == HookKind::kRoutedV;
}

}  // namespace

std::int64_t CaptureBatch::num_tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

ActivationCollector::ActivationCollector(const std::vector<CapturePoint>& points,
                                         const ModelConfig& config, const Settings& settings,
                                         ShardWriterThread& writer)
    : settings_(settings), writer_(writer) {
  for (const CapturePoint& point : points) {
    Target& target = targets_.emplace_back();
    target.place = point;
    target.statistics.site = point.site;
    target.statistics.layer = point.point.layer;
    if (is_key_or_value(point.point.kind)) target.statistics.num_heads = config.num_key_value_heads;
  }
}

void ActivationCollector::begin_window(const CaptureWindow& window, RowTable rows) {
  window_ = &window;
  rows_ = std::move(rows);
  if (rows_.size() == 0) return;
  writer_.push([table = rows_](ShardWriter& shard) { shard.append_rows(table); });
}

void ActivationCollector::begin_batch(const CaptureBatch& batch) { batch_ = &batch; }

void ActivationCollector::end_window() {
  if (!pools()) return;
  const std::int64_t count = window_->range.count;
  for (Target& target : targets_) {
    if (!target.place.activation) continue;
    float* const pooled = (*target.pooled)->data();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t original =
          window_->duplicate_of[static_cast<std::size_t>(i)] - window_->range.first;
      if (original == i) continue;
      std::copy_n(pooled + original * target.place.dim, target.place.dim,
                  pooled + i * target.place.dim);
    }
    writer_.append(*target.place.activation, count, target.place.dim, std::move(*target.pooled));
    target.pooled.reset();
  }
}

std::vector<ShardStatistics> ActivationCollector::take_statistics() {
  std::vector<ShardStatistics> all;
  for (Target& target : targets_) {
    all.push_back(target.statistics);
    target.statistics.statistics = RunningStatistics();
  }
  return all;
}

void ActivationCollector::receive(std::size_t point, const at::Tensor& activation, bool is_kept) {
  Target& target = targets_[point];
  const ActivationRows rows(activation);
  const bool keeps_tokens = target.place.activation && !pools() && rows_.size() > 0;
  const bool sends_all = keeps_tokens && is_kept && can_send_all(rows);
  std::optional<RowPool::Lease> buffer;
  if (keeps_tokens && !sends_all) {
    buffer.emplace(writer_.borrow_rows(static_cast<std::size_t>(rows_.size() * rows.dim())));
  }
  float* const copy = buffer && settings_.keeps_all_tokens ? (*buffer)->data() : nullptr;
  accumulator_.add(rows, batch_->lengths, copy, target.statistics.statistics);
  if (!settings_.allow_nan) check_finite(target);
  if (buffer) send_rows(target, rows, std::move(*buffer));
  if (sends_all) {
    writer_.append(*target.place.activation, {rows.row(0, 0), rows_.size(), rows.dim()},
                   std::make_shared<const at::Tensor>(rows.tensor()));
  }
  if (target.place.activation && pools()) pool_rows(target, rows);
}

/// The activation's memory is what will be written: no padding, no other order.
bool ActivationCollector::can_send_all(const ActivationRows& rows) const {
  return settings_.keeps_all_tokens && rows.is_one_matrix() &&
         rows_.size() == rows.batch() * rows.seq() &&
         batch_->num_tokens() == rows.batch() * rows.seq();
}

void ActivationCollector::send_rows(const Target& target, const ActivationRows& rows,
                                    RowPool::Lease buffer) {
  if (!settings_.keeps_all_tokens) {
    float* to = buffer->data();
    for (std::size_t i = 0; i < rows_.sequence.size(); ++i, to += rows.dim()) {
      const std::int64_t sequence = rows_.sequence[i] - window_->range.first;
      std::copy_n(rows.row(sequence, rows_.position[i]), rows.dim(), to);
    }
  }
  writer_.append(*target.place.activation, rows_.size(), rows.dim(), std::move(buffer));
}

void ActivationCollector::pool_rows(Target& target, const ActivationRows& rows) {
  const std::size_t count = batch_->sequences.size();
  if (!target.pooled) {
    target.pooled.emplace(
        writer_.borrow_rows(static_cast<std::size_t>(window_->range.count * target.place.dim)));
  }
  if (settings_.rows == RowKind::kMean) {
    means_.resize(count * static_cast<std::size_t>(target.place.dim));
    mean_rows(rows, batch_->counts, means_.data());
  }
  for (std::size_t s = 0; s < count; ++s) {
    const auto place = static_cast<std::int64_t>(s);
    const float* const row = settings_.rows == RowKind::kMean
                                 ? means_.data() + place * target.place.dim
                                 : rows.row(place, batch_->lengths[s] - 1);
    const std::int64_t slot = batch_->sequences[s] - window_->range.first;
    std::copy_n(row, target.place.dim, (*target.pooled)->data() + slot * target.place.dim);
  }
}

void ActivationCollector::check_finite(const Target& target) const {
  const RunningStatistics& statistics = target.statistics.statistics;
  if (statistics.mean.allFinite() && statistics.m2.allFinite()) return;
  throw NumericalError(
      "capture: {} must be finite, but is not in sequences {} to {}; check the weights, use "
      "a wider --dtype, or pass --allow-nan",
      hook_name(target.place.point), *std::ranges::min_element(batch_->sequences),
      *std::ranges::max_element(batch_->sequences));
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "measure/measure_passes.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "capture/activation_rows.h"
#include "capture/capture_passes.h"
#include "capture/capture_sizes.h"
#include "capture/capture_steps.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Returns the bytes of a kept activation per value: as float32 on the CPU, else in its own type.
std::int64_t kept_value_bytes(const Decoder& decoder, bool on_device) {
  return on_device
             ? static_cast<std::int64_t>(c10::elementSize(scalar_type(decoder.options().dtype)))
             : static_cast<std::int64_t>(sizeof(float));
}

void check_finite_statistics(const RunningStatistics& statistics, const CapturePoint& point,
                             const CaptureBatch& batch) {
  if (statistics.mean.allFinite() && statistics.m2.allFinite()) return;
  throw NumericalError(
      "measure: {} must be finite, but is not in sequences {} to {}; check the weights, or use a "
      "wider --dtype",
      hook_name(point.point), *std::ranges::min_element(batch.sequences),
      *std::ranges::max_element(batch.sequences));
}

/// Returns the tokens of each sequence of a batch that an entry measures.
std::vector<std::int64_t> measured_lengths(const MeteredPoint::Entry& entry,
                                           const CaptureBatch& batch) {
  std::vector<std::int64_t> lengths;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const bool is_short = entry.sequences->position(batch.sequences[s]) < 0;
    lengths.push_back(is_short ? 0 : batch.lengths[s] - entry.skip);
  }
  return lengths;
}

/// Returns whether a batch has sequences that the entries of a point leave out: all the same.
bool has_short(const MeteredPoint& point, const CaptureBatch& batch) {
  return std::ranges::any_of(batch.sequences, [&](std::int64_t sequence) {
    return point.entries.front().sequences->position(sequence) < 0;
  });
}

}  // namespace

bool MeteredPoint::needs_statistics() const {
  return std::ranges::any_of(entries, &Entry::needs_statistics);
}

MeasurePasses::MeasurePasses(const CaptureSetup& setup, const Decoder& decoder,
                             std::vector<MeteredPoint>& points, const MeasureLimits& limits)
    : setup_(setup),
      decoder_(decoder),
      points_(points),
      limits_(limits),
      pool_(limits.threads),
      host_statistics_(points.size()),
      device_statistics_(points.size()) {
  plan();
}

/// Lists the batches and determines how many of them are kept.
void MeasurePasses::plan() {
  std::vector<int> shards(setup_.shards.size());
  std::iota(shards.begin(), shards.end(), 0);
  CaptureSteps steps(setup_, shards);
  while (std::optional<CaptureStep> step = steps.next()) {
    // Nothing is written: the passes have one shard each.
    batches_.push_back(std::make_shared<const CaptureBatch>(std::move(step->parts.front().batch)));
  }
  std::int64_t dims = 0;
  for (const MeteredPoint& point : points_) {
    if (point.needs_statistics()) dims += point.point.dim;
  }
  num_kept_ = batches_.size();
  for (const auto& batch : batches_) progress_.total += batch->num_tokens();
  if (dims == 0) return;
  std::int64_t left = limits_.kept_bytes;
  num_kept_ = 0;
  const std::int64_t per_token = dims * kept_value_bytes(decoder_, limits_.on_device);
  for (const auto& batch : batches_) {
    left -= batch->num_tokens() * per_token;
    if (left < 0) break;
    ++num_kept_;
  }
  for (std::size_t i = num_kept_; i < batches_.size(); ++i) {
    repeated_tokens_ += batches_[i]->num_tokens();
  }
  progress_.total += repeated_tokens_;
}

bool MeasurePasses::run(const ProgressFn& on_progress, const std::stop_token& stop) {
  stop_ = stop;
  const at::NoGradGuard no_grad;
  const PassThreads threads;  // sleep while the pool measures
  if (on_progress) on_progress(progress_);
  std::vector<std::size_t> all(points_.size());
  std::iota(all.begin(), all.end(), 0);
  if (!pass_over(0, all, on_progress, stop)) return false;
  set_statistics();
  if (on_progress && !kept_.empty()) {
    progress_.note = "measuring kept activations";
    on_progress(progress_);
    progress_.note.clear();
  }
  measure(std::move(kept_));
  kept_.clear();
  if (num_kept_ == batches_.size()) return true;
  is_second_ = true;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].needs_statistics()) left.push_back(i);
  }
  return pass_over(num_kept_, left, on_progress, stop);
}

/// Runs the batches from `first_batch` on and receives the activations of some points.
bool MeasurePasses::pass_over(std::size_t first_batch, const std::vector<std::size_t>& points,
                              const ProgressFn& on_progress, const std::stop_token& stop) {
  CapturePasses::Settings settings = setup_.passes;
  settings.stays_on_device = true;
  settings.points.clear();
  for (const std::size_t i : points) settings.points.push_back(points_[i].point);
  LogitLens lens(decoder_, setup_.input, settings.points);
  std::size_t next = first_batch;
  const auto next_batch = [&] {
    const CaptureBatch& batch = *batches_[next];
    if (setup_.passes.edits != nullptr) {
      setup_.passes.edits->begin_batch(batch.sequences, batch.lengths);
    }
    return batch_ids(setup_.input, batch.sequences);
  };
  const auto passes = make_passes(decoder_, settings, next_batch);
  for (; next < batches_.size(); ++next) {
    if (stop.stop_requested()) return false;
    batch_ = batches_[next];
    keeps_batch_ = next < num_kept_;
    const ForwardResult result = passes->next([&](std::size_t index, const at::Tensor& activation) {
      if (lens.is_lens(index)) return lens.keep(index, activation);
      receive(points[index], activation);
    });
    lens.finish(result.hidden, batch_->sequences,
                [&](std::size_t index, const at::Tensor& rows) { receive(points[index], rows); });
    if (limits_.on_device) end_device_batch();
    progress_.done += batch_->num_tokens();
    if (on_progress) on_progress(progress_);
  }
  measure(std::move(waiting_));
  waiting_.clear();
  waiting_bytes_ = 0;
  return true;
}

bool MeasurePasses::collects_statistics(std::size_t point) const {
  return !is_second_ && points_[point].needs_statistics();
}

void MeasurePasses::receive(std::size_t point, const at::Tensor& activation) {
  if (limits_.on_device) {
    receive_on_device(point, activation);
  } else {
    receive_on_host(point, activation);
  }
}

void MeasurePasses::receive_on_host(std::size_t point, const at::Tensor& activation) {
  const ActivationRows rows(activation);
  const bool collects = collects_statistics(point);
  Rows received{.point = point, .batch = batch_};
  if (!collects || keeps_batch_) {
    received.host.emplace(buffers_.borrow());
    (*received.host)->resize(static_cast<std::size_t>(batch_->num_tokens() * rows.dim()));
  }
  HostStatistics& statistics = host_statistics_[point];
  RunningStatistics of_batch;
  const bool is_measured = !has_short(points_[point], *batch_);
  RunningStatistics& whole = collects && is_measured ? statistics[0] : of_batch;
  accumulator_.add(rows, batch_->lengths, received.host ? (*received.host)->data() : nullptr,
                   whole);
  if (!limits_.allow_nan) check_finite_statistics(whole, points_[point].point, *batch_);
  std::set<std::int64_t> added;
  if (is_measured) added.insert(0);
  for (const MeteredPoint::Entry& entry : points_[point].entries) {
    if (!collects || !entry.needs_statistics || !added.insert(entry.skip).second) continue;
    const ActivationRows rest(activation.narrow(1, entry.skip, activation.size(1) - entry.skip));
    accumulator_.add(rest, measured_lengths(entry, *batch_), nullptr, statistics[entry.skip]);
  }
  if (!received.host) return;
  const std::int64_t bytes =
      batch_->num_tokens() * rows.dim() * static_cast<std::int64_t>(sizeof(float));
  if (collects) {
    kept_.push_back(std::move(received));
    return;
  }
  if (waiting_bytes_ + bytes > limits_.waiting_bytes && !waiting_.empty()) {
    measure(std::move(waiting_));
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  waiting_.push_back(std::move(received));
  waiting_bytes_ += bytes;
}

void MeasurePasses::receive_on_device(std::size_t point, const at::Tensor& activation) {
  if (!collects_statistics(point)) return measure_on_device(point, activation, *batch_);
  for (const MeteredPoint::Entry& entry : points_[point].entries) {
    if (entry.needs_statistics) device_statistics_[point].try_emplace(entry.skip);
  }
  const MeasuredSequences& used = *points_[point].entries.front().sequences;
  for (auto& [skip, statistics] : device_statistics_[point]) {
    for_each_length(activation, *batch_, skip,
                    [&](std::span<const std::int64_t> sequences, const at::Tensor& rows) {
                      if (used.position(sequences.front()) >= 0) statistics.add(rows);
                    });
  }
  if (!keeps_batch_) return;
  kept_.push_back({.point = point, .batch = batch_, .device = activation.detach().clone()});
}

/// Gives the statistics of all rows to the meters that need them.
void MeasurePasses::set_statistics() {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    for (MeteredPoint::Entry& entry : points_[i].entries) {
      if (!entry.needs_statistics) continue;
      if (limits_.on_device) {
        const RunningStatistics statistics = device_statistics_[i].at(entry.skip).read();
        if (!limits_.allow_nan) check_finite_statistics(statistics, points_[i].point, *batch_);
        entry.meter->set_statistics(statistics);
      } else {
        entry.meter->set_statistics(host_statistics_[i].at(entry.skip));
      }
    }
  }
}

/// Measures rows, those of each point in order.
void MeasurePasses::measure(std::vector<Rows> rows) {
  std::vector<std::vector<const Rows*>> by_point(points_.size());
  for (const Rows& batch : rows) by_point[batch.point].push_back(&batch);
  std::erase_if(by_point, [](const auto& of_point) { return of_point.empty(); });
  if (!limits_.on_device) {
    pool_.parallel_for(
        std::ssize(by_point),
        [&](std::int64_t i) { measure_point(by_point[static_cast<std::size_t>(i)]); }, stop_);
    return;
  }
  for (const auto& of_point : by_point) {
    for (const Rows* batch : of_point) {
      measure_on_device(batch->point, batch->device, *batch->batch);
    }
    end_device_batch();
  }
}

void MeasurePasses::measure_point(const std::vector<const Rows*>& rows) {
  MeteredPoint& point = points_[rows.front()->point];
  const std::int64_t dim = point.point.dim;
  for (const Rows* const batch : rows) {
    const float* row = (**batch->host).data();
    for (std::size_t s = 0; s < batch->batch->sequences.size(); ++s) {
      const std::int64_t length = batch->batch->lengths[s];
      const Eigen::Map<const MatrixF> sequence(row, length, dim);
      for (MeteredPoint::Entry& entry : point.entries) {
        const std::int64_t position = entry.sequences->position(batch->batch->sequences[s]);
        if (position >= 0) entry.meter->add(position, sequence.bottomRows(length - entry.skip));
      }
      row += length * dim;
    }
  }
  for (MeteredPoint::Entry& entry : point.entries) entry.meter->end_batch();
}

void MeasurePasses::measure_on_device(std::size_t point, const at::Tensor& activation,
                                      const CaptureBatch& batch) {
  std::map<std::int64_t, std::vector<MeteredPoint::Entry*>> by_skip;
  for (MeteredPoint::Entry& entry : points_[point].entries) by_skip[entry.skip].push_back(&entry);
  for (const auto& [skip, entries] : by_skip) {
    for_each_length(
        activation, batch, skip,
        [&, &own = entries](std::span<const std::int64_t> sequences, const at::Tensor& rows) {
          for (MeteredPoint::Entry* const entry : own) {
            // Sequences of one length are all measured, or all left out.
            if (entry->sequences->position(sequences.front()) < 0) continue;
            std::vector<std::int64_t> positions;
            for (const std::int64_t sequence : sequences) {
              positions.push_back(entry->sequences->position(sequence));
            }
            entry->meter->add(positions, rows);
          }
        });
  }
}

/// Copies the results of a pass to the CPU.
void MeasurePasses::end_device_batch() {
  for (MeteredPoint& point : points_) {
    for (MeteredPoint::Entry& entry : point.entries) entry.meter->end_batch();
  }
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "capture/shard_writer_thread.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/threads/threads.h"

namespace lime {
namespace {

/// Values from here on become infinity when rounded to float16.
constexpr float kHalfOverflow = 65520.0F;

void refuse_half_overflow(const Eigen::Map<const MatrixF>& rows, const ActivationInfo& activation) {
  const auto sizes = rows.array().abs();
  if (!(sizes >= kHalfOverflow && sizes.isFinite()).any()) return;
  throw NumericalError(
      "capture: {} must stay below {} to be stored as float16, got {}; use --store float32",
      activation.hook, kHalfOverflow, sizes.maxCoeff<Eigen::PropagateNumbers>());
}

}  // namespace

ShardWriterThread::ShardWriterThread(CaptureWriter& writer, std::size_t max_waiting_bytes)
    : writer_(writer),
      queue_(max_waiting_bytes),
      thread_(start_thread([this] { return std::thread([this] { write(); }); })) {}

ShardWriterThread::~ShardWriterThread() {
  queue_.close_and_clear();
  if (thread_.joinable()) thread_.join();
}

RowPool::Lease ShardWriterThread::borrow_rows(std::size_t size) {
  RowPool::Lease rows = buffers_.borrow();
  rows->resize(size);
  return rows;
}

void ShardWriterThread::begin(int shard, std::int64_t first_sequence,
                              std::vector<Sequence> sequences) {
  enqueue([this, shard, first_sequence, sequences = std::move(sequences)] {
    shard_.emplace(writer_.begin_shard(shard, first_sequence));
    shard_->add_sequences(sequences);
  });
}

void ShardWriterThread::append(std::size_t activation, std::int64_t num_rows, std::int64_t dim,
                               RowPool::Lease values) {
  const Eigen::Map<const MatrixF> rows(values->data(), num_rows, dim);
  append(activation, rows, std::make_shared<const RowPool::Lease>(std::move(values)));
}

void ShardWriterThread::append(std::size_t activation, const Eigen::Map<const MatrixF>& rows,
                               std::shared_ptr<const void> owner) {
  const std::size_t bytes = static_cast<std::size_t>(rows.size()) * sizeof(float);
  const auto task = [this, activation, rows, owner = std::move(owner)] {
    const CapturePlan& plan = writer_.plan();
    if (plan.info.storage == StorageType::kFloat16) {
      refuse_half_overflow(rows, plan.activations[activation]);
    }
    shard_->append(activation, rows, owner);
  };
  enqueue(task, bytes);
}

void ShardWriterThread::end(std::vector<ShardStatistics> statistics) {
  enqueue([this, statistics = std::move(statistics)] {
    for (const ShardStatistics& entry : statistics) {
      shard_->set_statistics(entry.site, entry.layer, entry.statistics, entry.num_heads);
    }
    shard_->finish();
    shard_.reset();
  });
}

void ShardWriterThread::push(std::function<void(ShardWriter& shard)> task) {
  enqueue([this, task = std::move(task)] { task(*shard_); });
}

void ShardWriterThread::enqueue(std::function<void()> task, std::size_t bytes) {
  if (queue_.push(std::move(task), bytes)) return;
  if (thread_.joinable()) thread_.join();
  std::rethrow_exception(error_);
}

void ShardWriterThread::finish() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

void ShardWriterThread::write() {
  try {
    while (const auto task = queue_.pop()) (*task)();
  } catch (...) {
    error_ = std::current_exception();
    queue_.close_and_clear();
  }
  shard_.reset();
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capture/row_selection.h"
#include "capture/shard_plan.h"
#include "capture/sites.h"
#include "checkpoint/model_config.h"
#include "core/running_statistics.h"
#include "core/simd/aligned_buffer.h"
#include "core/threads/bounded_queue.h"
#include "core/threads/object_pool.h"
#include "store/capture_writer.h"

namespace lime {

/// Memory for rows, in a pool, so that a long run allocates it only once.
using RowPool = ObjectPool<AlignedBuffer<float>>;

struct ShardStatistics {
  std::string site;
  int layer = 0;
  std::int64_t num_heads = 0;  ///< > 0: for keys or values; also stores the rms per head
  RunningStatistics statistics = {};
};

/// Writes shards on a separate thread while the caller computes the next rows.
///
/// At most `max_waiting_bytes` of rows wait; then append() blocks. The first error of the writer is
/// thrown by the next task or by finish(). The destructor drops waiting tasks and discards an
/// unfinished shard. All but borrow_rows() must be called from one thread.
class ShardWriterThread {
 public:
  ShardWriterThread(CaptureWriter& writer, std::size_t max_waiting_bytes);
  ~ShardWriterThread();

  /// Returns uninitialised memory for `size` values: the threads that first fill it also share the
  /// cost of its page faults. Thread-safe.
  RowPool::Lease borrow_rows(std::size_t size);
  // Tasks of the thread, which throw any exception of an earlier one.
  /// Begins a shard; the previous one must have ended.
  void begin(int shard, std::int64_t first_sequence, std::vector<Sequence> sequences);
  /// Appends the announced rows of one activation of the plan: the first num_rows * dim values.
  void append(std::size_t activation, std::int64_t num_rows, std::int64_t dim,
              RowPool::Lease values);
  /// Appends rows that `owner` keeps alive.
  void append(std::size_t activation, const Eigen::Map<const MatrixF>& rows,
              std::shared_ptr<const void> owner);
  /// Ends the shard, which only then appears under its name.
  void end(std::vector<ShardStatistics> statistics);
  void push(std::function<void(ShardWriter& shard)> task);
  /// Waits until everything is written; a shard that has not ended is dropped.
  /// @throws any exception of the writer.
  void finish();

  /// Returns the seconds that append() waited for the writer.
  double compute_waited_seconds() const { return queue_.push_wait_seconds(); }
  double writer_waited_seconds() const { return queue_.pop_wait_seconds(); }

 private:
  void write();
  void enqueue(std::function<void()> task, std::size_t bytes = 0);

  CaptureWriter& writer_;
  RowPool buffers_;
  BoundedQueue<std::function<void()>> queue_;
  std::optional<ShardWriter> shard_;  // used only by the writer thread
  std::exception_ptr error_;          // set before the queue closes
  std::thread thread_;
};

/// View of a hook's activation with one row per token, without a copy if strides allow.
class ActivationRows {
 public:
  /// @param activation  [batch, seq, dim] or [batch, seq, heads, head_dim], any dtype and device.
  explicit ActivationRows(const at::Tensor& activation);

  std::int64_t batch() const { return batch_; }
  std::int64_t seq() const { return seq_; }
  std::int64_t dim() const { return dim_; }
  /// Returns true if all rows, including padding, are dense and in order.
  bool is_one_matrix() const { return row_stride_ == dim_ && sequence_stride_ == seq_ * dim_; }
  const at::Tensor& tensor() const { return tensor_; }
  const float* row(std::int64_t sequence, std::int64_t position) const {
    return data_ + sequence * sequence_stride_ + position * row_stride_;
  }
  /// Returns the stride between rows of the same sequence, in elements.
  std::int64_t row_stride() const { return row_stride_; }

 private:
  at::Tensor tensor_;  // owns the memory
  const float* data_ = nullptr;
  std::int64_t batch_ = 0;
  std::int64_t seq_ = 0;
  std::int64_t dim_ = 0;
  std::int64_t sequence_stride_ = 0;
  std::int64_t row_stride_ = 0;
};

/// Rearranges a pattern [batch, heads, queries, keys] to one row per query, [batch, queries, heads,
/// num_keys], padded with 0 from `keys` on.
at::Tensor pattern_by_query(const at::Tensor& pattern, std::int64_t num_keys);

/// Accumulates statistics over rows and copies them, in one pass over memory.
///
/// Per tile of at most 128 rows of one sequence, with its first row as shift s: mean = s + sum(x -
/// s) / n, m2 = sum((x - s)^2) - sum(x - s)^2 / n, in double; the tiles are merged in order
/// (RunningStatistics::merge), so results are bit-identical for any number of threads. Not
/// thread-safe; uses LibTorch's threads.
class RowAccumulator {
 public:
  /// @param lengths  tokens of each sequence; padding after them is ignored.
  /// @param copy     receives the concatenated rows, [sum of lengths, dim]; null for none.
  void add(const ActivationRows& rows, std::span<const std::int64_t> lengths, float* copy,
           RunningStatistics& statistics);

 private:
  struct Tile {
    std::int64_t sequence = 0;
    std::int64_t position = 0;
    std::int64_t count = 0;
    std::int64_t row = 0;  // in the copy
  };
  std::vector<Tile> tiles_;
  std::vector<double> moments_;  // per tile mean and m2
};

/// Averages the tokens of each sequence whose weight is not 0, in double.
/// @param counts  [sequence][position], 1 for tokens that count; at least one per sequence.
/// @param to      [batch, dim]
void mean_rows(const ActivationRows& rows, std::span<const std::vector<std::uint8_t>> counts,
               float* to);

struct CaptureBatch {
  std::vector<std::int64_t> sequences;  ///< their indices
  std::vector<std::int64_t> lengths;    ///< tokens of each sequence; later positions are padding
  /// For mean-pooled rows: 1 per sequence and token if the token counts; else empty.
  std::vector<std::vector<std::uint8_t>> counts;

  std::int64_t num_tokens() const;
};

/// Accumulates statistics over every token of forward passes until take_statistics(), and sends the
/// selected rows to the writer: pooled rows in input order at the end of a window. Not thread-safe.
class ActivationCollector {
 public:
  struct Settings {
    RowKind rows = RowKind::kTokens;
    bool keeps_all_tokens = true;
    bool allow_nan = false;
  };

  ActivationCollector(const std::vector<CapturePoint>& points, const ModelConfig& config,
                      const Settings& settings, ShardWriterThread& writer);

  /// @param window  must outlive end_window().
  /// @param rows    rows to keep in the window, in order; pooled rows: one per sequence
  void begin_window(const CaptureWindow& window, RowTable rows);
  /// @param batch  must outlive the pass.
  void begin_batch(const CaptureBatch& batch);
  /// Processes the activation of a point, one row per token, as provided by CapturePasses.
  /// @param is_kept  nobody writes to the activation's memory as long as it exists
  void receive(std::size_t point, const at::Tensor& activation, bool is_kept);
  /// Ends the window. Sequences with the same ids get bit-identical rows.
  void end_window();
  std::vector<ShardStatistics> take_statistics();

 private:
  struct Target {
    CapturePoint place;
    ShardStatistics statistics;
    std::optional<RowPool::Lease> pooled = std::nullopt;  ///< of the window, [sequences, dim]
  };

  bool pools() const { return settings_.rows != RowKind::kTokens; }
  bool can_send_all(const ActivationRows& rows) const;
  void send_rows(const Target& target, const ActivationRows& rows, RowPool::Lease buffer);
  void pool_rows(Target& target, const ActivationRows& rows);
  void check_finite(const Target& target) const;

  Settings settings_;
  ShardWriterThread& writer_;
  const CaptureWindow* window_ = nullptr;
  RowTable rows_;  // of the window
  const CaptureBatch* batch_ = nullptr;
  std::vector<float> means_;  // of the current pass
  RowAccumulator accumulator_;
  std::vector<Target> targets_;  // in the order of the points
};

}  // namespace lime

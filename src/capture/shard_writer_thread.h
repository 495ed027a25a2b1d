// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

}  // namespace lime

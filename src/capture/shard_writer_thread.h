// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/bounded_queue.h"
#include "core/running_statistics.h"
#include "store/capture_writer.h"

namespace lime {

/// Memory for rows that comes back after it was written, so that a long run asks the system for it
/// once. Thread-safe.
class RowBuffers {
 public:
  /// Numbers that are not set at first: the threads that fill a new buffer also share the work of
  /// getting its pages from the system.
  class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t size);

    float* data() const { return values_.get(); }
    std::size_t size() const { return values_ == nullptr ? 0 : size_; }
    bool empty() const { return size() == 0; }

   private:
    struct Free {
      void operator()(float* values) const { std::free(values); }
    };
    std::unique_ptr<float[], Free> values_;
    std::size_t size_ = 0;
  };

  /// A buffer of at least `size` numbers; what they are is not specified.
  Buffer take(std::size_t size);
  void give_back(Buffer buffer);

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

/// Statistics of one site and layer over one shard.
struct ShardStatistics {
  std::string site;
  int layer = 0;
  std::int64_t num_heads = 0;  ///< > 0: keys or values, whose root mean square per head is kept
  RunningStatistics statistics = {};
};

/// Begins a shard; the one before must have ended.
struct BeginShard {
  int shard = 0;
  std::int64_t first_sequence = 0;
  std::vector<Sequence> sequences;
};
/// Announces the rows of a batch.
struct AppendTable {
  RowTable rows;
};
/// The announced rows of one activation of the plan.
struct AppendRows {
  std::size_t activation = 0;
  std::int64_t num_rows = 0;
  std::int64_t dim = 0;
  RowBuffers::Buffer values;  ///< the first num_rows * dim count
};
/// What the model thinks of sequences from `first_sequence` on.
struct SetScores {
  std::int64_t first_sequence = 0;
  std::vector<SequenceScore> scores;
};
/// Ends the shard: only now does it appear under its name.
struct EndShard {
  std::vector<ShardStatistics> statistics;
};
using WriterTask = std::variant<BeginShard, AppendTable, AppendRows, SetScores, EndShard>;

/// A thread that writes shards while the caller computes the next rows.
///
/// At most `max_waiting_bytes` of rows wait; then push() waits. The first error of the writer is
/// thrown by the next push() or by finish(). The destructor drops what waits and leaves an
/// unfinished shard unwritten. push(), finish() and the destructor belong to one thread.
class ShardWriterThread {
 public:
  ShardWriterThread(CaptureWriter& writer, std::size_t max_waiting_bytes);
  ~ShardWriterThread();
  ShardWriterThread(const ShardWriterThread&) = delete;
  ShardWriterThread& operator=(const ShardWriterThread&) = delete;

  RowBuffers& buffers() { return buffers_; }
  /// @throws what the writer threw.
  void push(WriterTask task);
  /// Waits until everything is written; a shard that was begun and not ended is dropped.
  /// @throws what the writer threw.
  void finish();

  /// Seconds that push() waited because the writer was behind.
  double compute_waited_seconds() const { return queue_.push_wait_seconds(); }
  /// Seconds that the writer had nothing to do.
  double writer_waited_seconds() const { return queue_.pop_wait_seconds(); }

 private:
  void write();
  void perform(WriterTask& task);
  [[noreturn]] void rethrow();

  CaptureWriter& writer_;
  RowBuffers buffers_;
  BoundedQueue<WriterTask> queue_;
  std::optional<ShardWriter> shard_;  // the writing thread's
  std::exception_ptr error_;          // set before the queue closes
  std::thread thread_;
};

}  // namespace lime

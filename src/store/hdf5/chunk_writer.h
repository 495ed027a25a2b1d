// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"
#include "store/hdf5/chunk_filters.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {

/// Compresses chunks in worker threads and returns them in the order of submission, so that the
/// file's bytes do not depend on the number of threads.
///
/// push(), finish() and the destructor must be called from one thread, on which all chunks are
/// returned: the workers never call HDF5.
class ChunkQueue {
 public:
  using Write = std::function<void(const StoredChunk&)>;

  /// @param num_threads  >= 1, in addition to the calling one. @throws IoError
  explicit ChunkQueue(int num_threads);
  ~ChunkQueue();

  /// Submits a chunk; `write` receives it compressed, now or later. If more than two chunks per
  /// thread are in flight, waits for the oldest. @throws any exception of a `write`.
  void push(std::vector<std::byte> values, std::size_t value_bytes, Write write);
  /// Passes all remaining chunks to their `write`. @throws any exception of a `write`.
  void finish();

  /// Returns the maximum memory of the chunks in flight and of the workers, in bytes.
  static std::int64_t most_bytes(int num_threads, std::int64_t chunk_bytes);

 private:
  struct Waiting {
    std::future<StoredChunk> chunk;
    Write write;
  };

  void write_oldest();
  void work();
  void release();

  std::deque<Waiting> waiting_;  // in the order of submission
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<StoredChunk()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Appends rows to one dataset of activations.
///
/// Buffers rows in one chunk, converts it to its type on disk, adds HDF5's Fletcher-32 checksum and
/// writes it outside HDF5's own conversion, filters and cache, which would cost more than the disk.
/// Memory: one chunk. Not thread-safe; refers to `file` and `queue`, which refers to this.
class ChunkWriter {
 public:
  /// @param queue  compresses the chunks, also for other datasets of the file; null: uncompressed.
  ChunkWriter(Hdf5Writer& file, ActivationInfo activation, StorageType storage,
              std::int64_t chunk_bytes, ChunkQueue* queue = nullptr);

  void append(const ConstMatrixRef& rows);
  /// Ends the last, partial chunk: no more rows follow.
  void end_rows();
  /// Writes the remaining chunk and the dataset's attributes.
  void finish();

  std::int64_t num_rows() const { return num_rows_; }
  const ActivationInfo& activation() const { return activation_; }

 private:
  struct RowRange {
    std::int64_t first;
    std::int64_t end;
  };

  void create_dataset();
  void end_chunk();
  void write_chunk(const RowRange& rows, const StoredChunk& chunk);

  Hdf5Writer& file_;
  ActivationInfo activation_;
  StorageType storage_;
  std::string name_;
  std::size_t row_bytes_;
  std::int64_t chunk_rows_;
  std::int64_t num_rows_ = 0;        // appended
  std::int64_t first_in_chunk_ = 0;  // of the rows in chunk_
  std::vector<std::byte> chunk_;     // values of a whole chunk
  ChunkQueue* queue_;
  hdf5::Id dataset_;
};

}  // namespace lime

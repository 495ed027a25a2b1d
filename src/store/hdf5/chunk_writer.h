// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"
#include "store/hdf5/chunk_filters.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {

/// Makes chunks in worker threads, which may also write them, and returns them in the order of
/// submission, so that the file's bytes do not depend on the number of threads.
///
/// push(), finish() and the destructor must be called from one thread, on which all chunks are
/// returned: the workers never call HDF5.
class ChunkQueue {
 public:
  using Make = std::function<StoredChunk()>;
  using Take = std::function<void(const StoredChunk&)>;

  /// @param num_threads  >= 1, in addition to the calling one. @throws IoError
  explicit ChunkQueue(int num_threads);
  ~ChunkQueue();

  /// Submits a chunk; `take` receives it, now or later. If more than two chunks per thread are in
  /// flight, waits for the oldest. @throws any exception of a `make` or `take`.
  void push(Make make, Take take);
  /// Passes all remaining chunks to their `take`. @throws any exception of a `make` or `take`.
  void finish();

  /// Returns the maximum memory of the chunks in flight and of the workers, in bytes.
  static std::int64_t most_bytes(int num_threads, std::int64_t chunk_bytes);

 private:
  struct Waiting {
    std::future<StoredChunk> chunk;
    Take take;
  };

  void take_oldest();
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
/// Converts chunks of rows to their type on disk, adds HDF5's Fletcher-32 checksum and writes them
/// outside HDF5's own conversion, filters and cache, which would cost more than the disk. HDF5
/// allocates a chunk; the queue's threads check and write it at the same time as others, since HDF5
/// itself writes with one thread. Memory: one chunk. Not thread-safe; refers to `file` and `queue`,
/// which refers to this.
class ChunkWriter {
 public:
  ChunkWriter(Hdf5Writer& file, ActivationInfo activation, StorageType storage,
              Compression compression, std::int64_t chunk_bytes, ChunkQueue& queue);

  /// @param owner  keeps dense rows alive until they are written; null: they are copied here
  void append(const ConstMatrixRef& rows, const std::shared_ptr<const void>& owner = nullptr);
  /// Ends the last, partial chunk: no more rows follow.
  void end_rows();
  /// Writes the remaining chunk and the dataset's attributes.
  void finish();

  std::int64_t num_rows() const { return num_rows_; }
  const ActivationInfo& activation() const { return activation_; }

 private:
  /// Rows [first, end) of the dataset: `rows` while `owner` exists, or `bytes` as on disk.
  struct Chunk {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::span<const float> rows = {};
    std::shared_ptr<const void> owner = nullptr;
    std::vector<std::byte> bytes = {};
  };

  std::int64_t rows_in_chunk() const { return num_rows_ - first_in_chunk_; }
  void fill(const float* rows, std::int64_t count);
  void submit(Chunk chunk);
  void submit_plain(const std::shared_ptr<const Chunk>& chunk);
  void create_dataset();
  std::vector<std::byte> stored_values(const Chunk& chunk) const;
  void write_chunk(const Chunk& chunk, const StoredChunk& stored);
  std::optional<std::uint64_t> allocate(const Chunk& chunk, std::size_t size);

  Hdf5Writer& file_;
  ActivationInfo activation_;
  StorageType storage_;
  Compression compression_;
  std::string name_;
  std::size_t row_bytes_;
  std::int64_t chunk_rows_;
  std::int64_t num_rows_ = 0;        // appended
  std::int64_t first_in_chunk_ = 0;  // of the rows in chunk_
  std::vector<std::byte> chunk_;     // the rows after the last whole chunk, as on disk
  ChunkQueue& queue_;
  hdf5::Id dataset_;
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/chunk_writer.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/files/atomic_file.h"
#include "core/half.h"
#include "core/threads/threads.h"
#include "store/capture_layout.h"
#include "store/hdf5/fletcher32.h"
#include "store/hdf5/watched_write.h"

namespace lime {
namespace {

/// One being compressed and one waiting.
constexpr std::size_t kChunksPerThread = 2;

}  // namespace

ChunkQueue::ChunkQueue(int num_threads) {
  start_threads(
      threads_, num_threads, [this](int) { work(); }, [this] { release(); });
}

ChunkQueue::~ChunkQueue() {
  release();
  for (std::thread& thread : threads_) thread.join();
}

void ChunkQueue::release() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  wake_.notify_all();
}

void ChunkQueue::push(Make make, Take take) {
  while (waiting_.size() >= kChunksPerThread * threads_.size()) take_oldest();
  std::packaged_task<StoredChunk()> task(std::move(make));
  waiting_.push_back({task.get_future(), std::move(take)});
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ChunkQueue::finish() {
  while (!waiting_.empty()) take_oldest();
}

std::int64_t ChunkQueue::most_bytes(int num_threads, std::int64_t chunk_bytes) {
  // A worker needs memory for the shuffled chunk in addition to the chunk.
  constexpr auto kBuffers = static_cast<std::int64_t>(kChunksPerThread) + 1;
  return kBuffers * num_threads * chunk_bytes;
}

void ChunkQueue::take_oldest() {
  Waiting oldest = std::move(waiting_.front());
  waiting_.pop_front();
  oldest.take(oldest.chunk.get());
}

void ChunkQueue::work() {
  for (;;) {
    std::packaged_task<StoredChunk()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

using hdf5::Id;
using hdf5::Lock;

namespace {

void copy_values(std::span<const float> values, StorageType storage, std::byte* to) {
  if (storage == StorageType::kFloat16) {
    // Chunks come from operator new and rows have an even number of bytes: they are aligned.
    float_to_half(values, {reinterpret_cast<HalfBits*>(to), values.size()});
  } else {
    std::memcpy(to, values.data(), values.size_bytes());
  }
}

/// Writes a chunk and its checksum at `place`. @throws IoError  of the object `name`
void write_at(int descriptor, std::uint64_t place, std::span<const std::byte> values,
              const std::uint32_t& checksum, const Hdf5Writer& file, const std::string& name) {
  std::array<iovec, 2> parts = {iovec{const_cast<std::byte*>(values.data()), values.size()},
                                iovec{const_cast<std::uint32_t*>(&checksum), sizeof checksum}};
  std::size_t first = 0;
  while (first < parts.size()) {
    const ssize_t written =
        ::pwritev64(descriptor, parts.data() + first, static_cast<int>(parts.size() - first),
                    static_cast<off64_t>(place));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw IoError("store: '{}': '{}' cannot be written: {}", Hdf5Access::path(file).string(),
                    name, describe_errno(written < 0 ? errno : ENOSPC));
    }
    place += static_cast<std::uint64_t>(written);
    auto left = static_cast<std::size_t>(written);
    while (first < parts.size() && left >= parts[first].iov_len) left -= parts[first++].iov_len;
    if (first == parts.size()) break;
    parts[first].iov_base = static_cast<std::byte*>(parts[first].iov_base) + left;
    parts[first].iov_len -= left;
  }
}

}  // namespace

ChunkWriter::ChunkWriter(Hdf5Writer& file, ActivationInfo activation, StorageType storage,
                         Compression compression, std::int64_t chunk_bytes, ChunkQueue& queue)
    : file_(file),
      activation_(std::move(activation)),
      storage_(storage),
      compression_(compression),
      name_(activation_path(activation_.site, activation_.layer)),
      row_bytes_(static_cast<std::size_t>(activation_.dim) * bytes_per_value(storage)),
      chunk_rows_(std::max<std::int64_t>(1, chunk_bytes / static_cast<std::int64_t>(row_bytes_))),
      queue_(queue) {}

void ChunkWriter::append(const ConstMatrixRef& rows, const std::shared_ptr<const void>& owner) {
  const bool is_dense = rows.outerStride() == rows.cols();
  for (Eigen::Index r = 0; r < rows.rows();) {
    const float* const from = rows.data() + r * rows.outerStride();
    if (owner && is_dense && rows_in_chunk() == 0 && rows.rows() - r >= chunk_rows_) {
      num_rows_ += chunk_rows_;
      submit({.first = std::exchange(first_in_chunk_, num_rows_),
              .end = num_rows_,
              .rows = {from, static_cast<std::size_t>(chunk_rows_ * rows.cols())},
              .owner = owner});
      r += chunk_rows_;
      continue;
    }
    const Eigen::Index step =
        is_dense ? std::min<Eigen::Index>(rows.rows() - r, chunk_rows_ - rows_in_chunk()) : 1;
    fill(from, step);
    r += step;
  }
}

void ChunkWriter::fill(const float* rows, std::int64_t count) {
  if (chunk_.empty()) {
    const std::size_t bytes = static_cast<std::size_t>(chunk_rows_) * row_bytes_;
    chunk_.reserve(bytes + sizeof(std::uint32_t));  // plus a checksum
    chunk_.resize(bytes);
  }
  const std::size_t filled = static_cast<std::size_t>(rows_in_chunk()) * row_bytes_;
  copy_values({rows, static_cast<std::size_t>(count * activation_.dim)}, storage_,
              chunk_.data() + filled);
  num_rows_ += count;
  if (rows_in_chunk() < chunk_rows_) return;
  submit({.first = std::exchange(first_in_chunk_, num_rows_),
          .end = num_rows_,
          .bytes = std::exchange(chunk_, {})});
}

void ChunkWriter::end_rows() {
  const std::int64_t left = rows_in_chunk();
  if (left == 0) return;
  const std::size_t used = static_cast<std::size_t>(left) * row_bytes_;
  if (first_in_chunk_ == 0) {
    // The only chunk: shrink it to its rows.
    chunk_rows_ = left;
    chunk_.resize(used);
  }
  std::fill(chunk_.begin() + static_cast<std::ptrdiff_t>(used), chunk_.end(), std::byte{0});
  submit({.first = std::exchange(first_in_chunk_, num_rows_),
          .end = num_rows_,
          .bytes = std::exchange(chunk_, {})});
}

void ChunkWriter::finish() {
  end_rows();
  queue_.finish();
  if (!dataset_) create_dataset();
  const Lock lock;
  hdf5::check_written(file_, H5Dflush(dataset_.get()) >= 0 && dataset_.reset(), name_);
  file_.set_attribute("hook", activation_.hook, name_);
}

std::vector<std::byte> ChunkWriter::stored_values(const Chunk& chunk) const {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(chunk_rows_) * row_bytes_ + sizeof(std::uint32_t));
  if (chunk.rows.empty()) {
    bytes.insert(bytes.end(), chunk.bytes.begin(), chunk.bytes.end());
  } else {
    bytes.resize(chunk.rows.size() * bytes_per_value(storage_));
    copy_values(chunk.rows, storage_, bytes.data());
  }
  return bytes;
}

void ChunkWriter::submit(Chunk chunk) {
  const auto kept = std::make_shared<const Chunk>(std::move(chunk));
  if (compression_ == Compression::kNone) return submit_plain(kept);
  queue_.push([this, kept] { return compressed(stored_values(*kept), bytes_per_value(storage_)); },
              [this, kept](const StoredChunk& stored) { write_chunk(*kept, stored); });
}

void ChunkWriter::submit_plain(const std::shared_ptr<const Chunk>& chunk) {
  const std::size_t size =
      static_cast<std::size_t>(chunk_rows_) * row_bytes_ + sizeof(std::uint32_t);
  const std::optional<std::uint64_t> place = allocate(*chunk, size);
  if (!place) {
    return queue_.push([this, chunk] { return checksummed(stored_values(*chunk)); },
                       [this, chunk](const StoredChunk& stored) { write_chunk(*chunk, stored); });
  }
  queue_.push(
      [this, chunk, place = *place, file = Hdf5Access::descriptor(file_)] {
        std::vector<std::byte> converted;
        std::span<const std::byte> values = chunk->bytes;
        if (!chunk->rows.empty() && storage_ == StorageType::kFloat32) {
          values = std::as_bytes(chunk->rows);
        } else if (!chunk->rows.empty()) {
          values = converted = stored_values(*chunk);
        }
        const StoredChunk written{.bytes = {}, .checksum = fletcher32(values)};
        write_at(file, place, values, written.checksum, file_, name_);
        return written;
      },
      [this, place = *place, size](const StoredChunk& written) {
        Hdf5Access::add_data(file_, {place, size, written.checksum});
      });
}

void ChunkWriter::create_dataset() {
  const Lock lock;
  const auto dim = static_cast<hsize_t>(activation_.dim);
  const std::array<hsize_t, 2> size = {0, dim};
  const std::array<hsize_t, 2> limit = {H5S_UNLIMITED, dim};
  const std::array<hsize_t, 2> chunk = {static_cast<hsize_t>(chunk_rows_), dim};
  const Id space(H5Screate_simple(2, size.data(), limit.data()), H5Sclose);
  const Id properties = hdf5::dataset_properties();
  H5Pset_chunk(properties.get(), 2, chunk.data());
  H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER);
  if (compression_ == Compression::kDeflate) {
    H5Pset_shuffle(properties.get());
    H5Pset_deflate(properties.get(), kDeflateLevel);
  }
  H5Pset_fletcher32(properties.get());
  const Id half = hdf5::half_type();
  const hid_t type = storage_ == StorageType::kFloat16 ? half.get() : H5T_IEEE_F32LE;
  dataset_ = hdf5::create_dataset(file_, name_, type, space, properties);
}

std::optional<std::uint64_t> ChunkWriter::allocate(const Chunk& chunk, std::size_t size) {
  if (!dataset_) create_dataset();
  const std::array<hsize_t, 2> offset = {static_cast<hsize_t>(chunk.first), 0};
  const std::array<hsize_t, 2> extent = {static_cast<hsize_t>(chunk.end),
                                         static_cast<hsize_t>(activation_.dim)};
  const Lock lock;
  hdf5::WatchedWrite watched(size);
  const bool is_written =
      H5Dset_extent(dataset_.get(), extent.data()) >= 0 &&
      H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, offset.data(), size, watched.data()) >= 0;
  hdf5::check_written(file_, is_written, name_);
  return watched.place();
}

void ChunkWriter::write_chunk(const Chunk& chunk, const StoredChunk& stored) {
  if (!dataset_) create_dataset();  // in the order of writing, as are the file's bytes
  const std::array<hsize_t, 2> offset = {static_cast<hsize_t>(chunk.first), 0};
  const std::array<hsize_t, 2> extent = {static_cast<hsize_t>(chunk.end),
                                         static_cast<hsize_t>(activation_.dim)};
  std::optional<std::uint64_t> place;
  {
    const Lock lock;
    const hdf5::WatchedWrite watched(stored.bytes.data());
    const bool is_written = H5Dset_extent(dataset_.get(), extent.data()) >= 0 &&
                            H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, stored.skipped_filters,
                                           offset.data(), stored.bytes.size(), watched.data()) >= 0;
    hdf5::check_written(file_, is_written, name_);
    place = watched.place();
  }
  // Without a place the trailer covers the chunk like HDF5's own structures.
  if (place) Hdf5Access::add_data(file_, {*place, stored.bytes.size(), stored.checksum});
}

}  // namespace lime

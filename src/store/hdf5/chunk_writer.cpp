// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/chunk_writer.h"

#include <algorithm>
#include <cstring>

#include "core/half.h"
#include "core/threads/threads.h"
#include "store/capture_layout.h"

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

void ChunkQueue::push(std::vector<std::byte> values, std::size_t value_bytes, Write write) {
  while (waiting_.size() >= kChunksPerThread * threads_.size()) write_oldest();
  std::packaged_task<StoredChunk()> task([values = std::move(values), value_bytes]() mutable {
    return compressed(std::move(values), value_bytes);
  });
  waiting_.push_back({task.get_future(), std::move(write)});
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ChunkQueue::finish() {
  while (!waiting_.empty()) write_oldest();
}

std::int64_t ChunkQueue::most_bytes(int num_threads, std::int64_t chunk_bytes) {
  // A worker needs memory for the shuffled chunk in addition to the chunk.
  constexpr auto kBuffers = static_cast<std::int64_t>(kChunksPerThread) + 1;
  return kBuffers * num_threads * chunk_bytes;
}

void ChunkQueue::write_oldest() {
  Waiting oldest = std::move(waiting_.front());
  waiting_.pop_front();
  oldest.write(oldest.chunk.get());
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

ChunkWriter::ChunkWriter(Hdf5Writer& file, ActivationInfo activation, StorageType storage,
                         std::int64_t chunk_bytes, ChunkQueue* queue)
    : file_(file),
      activation_(std::move(activation)),
      storage_(storage),
      name_(activation_path(activation_.site, activation_.layer)),
      row_bytes_(static_cast<std::size_t>(activation_.dim) * bytes_per_value(storage)),
      chunk_rows_(std::max<std::int64_t>(1, chunk_bytes / static_cast<std::int64_t>(row_bytes_))),
      queue_(queue) {}

void ChunkWriter::append(const ConstMatrixRef& rows) {
  const bool contiguous = rows.outerStride() == rows.cols();
  for (Eigen::Index r = 0; r < rows.rows();) {
    if (chunk_.empty()) {
      const std::size_t bytes = static_cast<std::size_t>(chunk_rows_) * row_bytes_;
      chunk_.reserve(bytes + sizeof(std::uint32_t));  // plus a checksum
      chunk_.resize(bytes);
    }
    const std::int64_t filled = num_rows_ - first_in_chunk_;
    const Eigen::Index step =
        contiguous ? std::min<Eigen::Index>(rows.rows() - r, chunk_rows_ - filled) : 1;
    const float* const from = rows.data() + r * rows.outerStride();
    const auto count = static_cast<std::size_t>(step * rows.cols());
    std::byte* const target = chunk_.data() + static_cast<std::size_t>(filled) * row_bytes_;
    if (storage_ == StorageType::kFloat16) {
      // chunk_ comes from operator new and rows have an even number of bytes: it is aligned.
      float_to_half({from, count}, {reinterpret_cast<HalfBits*>(target), count});
    } else {
      std::memcpy(target, from, count * sizeof(float));
    }
    r += step;
    num_rows_ += step;
    if (num_rows_ - first_in_chunk_ == chunk_rows_) end_chunk();
  }
}

void ChunkWriter::end_rows() {
  const std::int64_t left = num_rows_ - first_in_chunk_;
  if (left == 0) return;
  const std::size_t used = static_cast<std::size_t>(left) * row_bytes_;
  if (first_in_chunk_ == 0) {
    // The only chunk: shrink it to its rows.
    chunk_rows_ = left;
    chunk_.resize(used);
  }
  std::fill(chunk_.begin() + static_cast<std::ptrdiff_t>(used), chunk_.end(), std::byte{0});
  end_chunk();
}

void ChunkWriter::finish() {
  end_rows();
  if (queue_ != nullptr) queue_->finish();
  if (!dataset_) create_dataset();
  const Lock lock;
  hdf5::check_written(file_, H5Dflush(dataset_.get()) >= 0 && dataset_.reset(), name_);
  file_.set_attribute("hook", activation_.hook, name_);
  chunk_ = {};
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
  if (queue_ != nullptr) {
    H5Pset_shuffle(properties.get());
    H5Pset_deflate(properties.get(), kDeflateLevel);
  }
  H5Pset_fletcher32(properties.get());
  const Id half = hdf5::half_type();
  const hid_t type = storage_ == StorageType::kFloat16 ? half.get() : H5T_IEEE_F32LE;
  dataset_ = hdf5::create_dataset(file_, name_, type, space, properties);
}

void ChunkWriter::end_chunk() {
  const RowRange rows = {first_in_chunk_, num_rows_};
  first_in_chunk_ = num_rows_;
  if (queue_ != nullptr) {
    queue_->push(std::exchange(chunk_, {}), bytes_per_value(storage_),
                 [this, rows](const StoredChunk& chunk) { write_chunk(rows, chunk); });
    return;
  }
  const std::size_t bytes = chunk_.size();
  StoredChunk chunk = checksummed(std::move(chunk_));
  write_chunk(rows, chunk);
  chunk_ = std::move(chunk.bytes);
  chunk_.resize(bytes);
}

void ChunkWriter::write_chunk(const RowRange& rows, const StoredChunk& chunk) {
  if (!dataset_) create_dataset();
  const std::array<hsize_t, 2> offset = {static_cast<hsize_t>(rows.first), 0};
  const std::array<hsize_t, 2> extent = {static_cast<hsize_t>(rows.end),
                                         static_cast<hsize_t>(activation_.dim)};
  const Lock lock;
  hsize_t before = 0;
  hsize_t after = 0;
  const hid_t file = Hdf5Access::id(file_);
  const bool is_written =
      H5Dset_extent(dataset_.get(), extent.data()) >= 0 && H5Fget_filesize(file, &before) >= 0 &&
      H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, chunk.skipped_filters, offset.data(),
                     chunk.bytes.size(), chunk.bytes.data()) >= 0 &&
      H5Fget_filesize(file, &after) >= 0;
  hdf5::check_written(file_, is_written, name_);
  // The file grew by exactly the chunk, unless HDF5 also wrote its own structures: add_data()
  // verifies this assumption, and the trailer covers rejected extents.
  if (after == before + chunk.bytes.size()) {
    Hdf5Access::add_data(file_, {before, chunk.bytes.size(), chunk.checksum});
  }
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "store/capture_info.h"
#include "store/hdf5/chunk_filters.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_file.h"

namespace lime {

/// Caches the most recently decompressed chunks, because sequences are read one by one and a chunk
/// contains many. Threads that need the same chunk wait for the first of them. Thread-safe.
class ChunkCache {
 public:
  using Chunk = std::shared_ptr<const std::vector<std::byte>>;

  /// @param max_bytes  total size of the cached chunks; a larger chunk is not cached.
  explicit ChunkCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Cache key; `owner` identifies one dataset in one file.
  struct Key {
    const void* owner = nullptr;
    std::size_t number = 0;
    bool operator==(const Key&) const = default;
  };
  /// Returns the cached chunk, or the result of `load`.
  /// @param size  of the chunk in bytes
  /// @throws any exception of `load`, also in threads that wait for it; nothing is cached then.
  Chunk get(const Key& key, std::size_t size, const std::function<Chunk()>& load) {
    if (size > max_bytes_) return load();
    std::promise<Chunk> coming;
    bool is_new = false;
    const std::shared_future<Chunk> chunk = find_or_add(key, size, coming, is_new);
    if (!is_new) return chunk.get();
    try {
      coming.set_value(load());
    } catch (...) {
      drop([&](const Entry& entry) { return entry.key == key; });
      coming.set_exception(std::current_exception());
    }
    return chunk.get();
  }
  /// Removes all chunks of an owner before its destruction.
  void erase(const void* owner) {
    drop([owner](const Entry& entry) { return entry.key.owner == owner; });
  }

 private:
  struct Entry {
    Key key;
    std::size_t size;
    std::shared_future<Chunk> chunk;
  };

  /// Returns the entry for the key, or a new one for the pending result.
  std::shared_future<Chunk> find_or_add(const Key& key, std::size_t size,
                                        std::promise<Chunk>& coming, bool& is_new) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    is_new = found == entries_.end();
    if (!is_new) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().chunk;
    }
    entries_.push_front({key, size, coming.get_future().share()});
    const std::shared_future<Chunk> chunk = entries_.front().chunk;
    bytes_ += size;
    while (bytes_ > max_bytes_) {
      bytes_ -= entries_.back().size;
      entries_.pop_back();
    }
    return chunk;
  }

  template <typename IsMeant> void drop(const IsMeant& is_meant) {
    const std::scoped_lock lock(mutex_);
    entries_.remove_if([&](const Entry& entry) {
      if (!is_meant(entry)) return false;
      bytes_ -= entry.size;
      return true;
    });
  }

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
};

/// Reads rows of one dataset of activations, [num_rows, dim].
///
/// Chunk positions are listed through HDF5 once. The chunks are then read directly from the file,
/// in any number of threads, verified against their Fletcher-32 checksums and widened to float. A
/// chunk is read whole the first time, to verify it, and partially after that. Listing n chunks
/// takes HDF5 1.10 O(n^2) time, so with very many chunks each position is queried when needed.
/// Shuffled and deflated chunks are always read whole, and decompressed by the reading thread.
/// Datasets with another layout (repacked or compressed differently by another tool) are read
/// through HDF5. Thread-safe; refers to `file`.
class ChunkReader {
 public:
  /// @param cache  of decompressed chunks; null: none. @throws FormatError  if the dataset is not a
  /// two-dimensional one of float32, float64 or float16 in the file itself.
  ChunkReader(const Hdf5File& file, const std::string& dataset,
              std::shared_ptr<ChunkCache> cache = nullptr);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  std::int64_t num_rows() const { return num_rows_; }
  std::int64_t dim() const { return dim_; }

  /// @param out  count * dim floats. @param stop  checked between chunks.
  /// @throws FormatError  if a checksum is wrong; names the rows. @throws Interrupted
  void read(std::int64_t first, std::int64_t count, float* out,
            const std::stop_token& stop = {}) const;

  /// Reads everything; appends a line per damaged chunk and passes the chunks' sizes to `on_bytes`.
  void verify(std::vector<std::string>& problems,
              const std::function<void(std::int64_t)>& on_bytes) const;
  /// Returns true if chunks are read outside HDF5, which only listed them.
  bool is_direct() const { return is_direct_; }

 private:
  enum class Filters { kNone, kChecksum, kDeflate, kOther };
  struct Place {
    std::uint64_t address;
    std::size_t size;
    std::uint32_t skipped_filters;
  };

  void check_size() const;
  Filters filters_of(hid_t properties) const;
  void index_chunks(hid_t dataset);
  void list_places(hid_t dataset);
  bool has_known_layout(hid_t dataset) const;
  bool can_be_chunk(std::uint64_t size, std::uint32_t skipped_filters) const;
  void check_stop(const std::stop_token& stop) const;
  void read_through_hdf5(std::int64_t first, std::int64_t count, float* out,
                         const std::stop_token& stop) const;
  void read_selected(std::int64_t first, std::int64_t count, float* out) const;
  // These return true if the read had to wait for the disk.
  bool read_chunk(std::size_t chunk, float* out) const;
  bool read_part(std::size_t chunk, std::int64_t first, std::int64_t count, float* out) const;
  bool read_deflated(std::size_t chunk, std::int64_t first, std::int64_t count, float* out) const;
  bool is_listed() const { return !places_.empty(); }
  /// Returns the bytes of a chunk after shuffle and before deflate.
  ChunkCache::Chunk load_planes(std::size_t chunk, bool& waited) const;
  StoredChunk load_stored(std::size_t chunk, bool& waited) const;
  std::string rows_text(std::size_t chunk) const;
  bool load_whole(std::size_t chunk, std::span<std::byte> bytes) const;
  bool load(std::size_t chunk, std::span<std::byte> bytes, std::size_t skip) const;
  void check(std::size_t chunk, std::span<const std::byte> data, std::uint32_t stored) const;
  void widen(std::span<const std::byte> values, float* out) const;

  const Hdf5File& file_;
  std::string name_;
  hdf5::Id dataset_;
  std::int64_t num_rows_ = 0;
  std::int64_t dim_ = 0;
  std::int64_t chunk_rows_ = 0;
  StorageType storage_ = StorageType::kFloat32;
  Filters filters_ = Filters::kOther;
  bool is_direct_ = false;        // chunks are read past HDF5's filters
  std::size_t value_bytes_ = 0;   // per value of a chunk
  std::size_t stored_bytes_ = 0;  // of a chunk with its checksum, not deflated
  int descriptor_ = -1;           // HDF5's own, if the chunks are listed
  std::vector<Place> places_;     // of the chunks in the file; empty: not listed
  std::shared_ptr<ChunkCache> cache_;
  mutable std::vector<std::atomic<char>> good_;  // chunks already verified
};

}  // namespace lime

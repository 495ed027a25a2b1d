// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "store/capture_info.h"
#include "store/hdf5/chunk_cache.h"
#include "store/hdf5/chunk_filters.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_file.h"

namespace lime {

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "store/capture_info.h"
#include "store/hdf5_api.h"
#include "store/hdf5_file.h"

namespace lime {

/// Reads rows of one dataset of activations, [num_rows, dim].
///
/// HDF5 is asked once where the chunks lie; they are then read straight from the file, in any
/// number of threads, tested against their Fletcher-32 checksums and widened to float. A chunk of
/// which only some rows are wanted is read whole once, to test it, and in parts after that.
/// Listing n chunks takes HDF5 1.10 time in n^2, so that of very many each is asked for when it is
/// read. Datasets of another layout (repacked or compressed by another tool) go through HDF5.
/// Thread-safe; refers to `file`.
class ChunkReader {
 public:
  /// @throws FormatError  if the dataset is missing, or not float32, float64 or float16 of
  ///                      two dimensions in the file itself.
  ChunkReader(const Hdf5File& file, const std::string& dataset);

  std::int64_t num_rows() const { return num_rows_; }
  std::int64_t dim() const { return dim_; }
  std::int64_t chunk_rows() const { return chunk_rows_; }

  /// @param out  count * dim floats.
  /// @throws FormatError  if a checksum is wrong; names the rows.
  void read(std::int64_t first, std::int64_t count, float* out) const;

  /// Reads everything and adds one line to `problems` for every chunk that is damaged.
  /// `on_bytes` is told the bytes of each chunk that was read.
  void verify(std::vector<std::string>& problems,
              const std::function<void(std::int64_t)>& on_bytes) const;
  /// Whether chunks are read past HDF5, which has only listed them.
  bool is_direct() const { return is_direct_; }

 private:
  void check_size() const;
  void index_chunks(hid_t dataset);
  void list_addresses(hid_t dataset);
  bool has_known_layout(hid_t dataset) const;
  void read_through_hdf5(std::int64_t first, std::int64_t count, float* out) const;
  // These return true if the disk had to be waited for.
  bool read_chunk(std::size_t chunk, float* out) const;
  bool read_part(std::size_t chunk, std::int64_t first, std::int64_t count, float* out) const;
  bool is_listed() const { return !addresses_.empty(); }
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
  bool has_checksum_ = false;
  bool is_direct_ = false;                       // chunks are read past HDF5's filters
  std::size_t stored_bytes_ = 0;                 // of a chunk with its checksum
  int descriptor_ = -1;                          // HDF5's own, if the chunks are listed
  std::vector<std::uint64_t> addresses_;         // of the chunks in the file; empty: not listed
  mutable std::vector<std::atomic<char>> good_;  // chunks that were tested
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"
#include "store/hdf5_api.h"
#include "store/hdf5_file.h"

namespace lime {

/// Appends rows to one dataset of activations.
///
/// Rows gather in a chunk that is converted to its type on disk, given HDF5's Fletcher-32 checksum
/// and written past HDF5's own conversion, filters and cache, which would cost more than the disk.
/// Holds one chunk of memory. Not thread-safe; refers to `file`.
class ChunkWriter {
 public:
  ChunkWriter(Hdf5Writer& file, ActivationInfo activation, StorageType storage,
              std::int64_t chunk_bytes);

  /// @param rows  [num_rows, dim]
  void append(const ConstMatrixRef& rows);
  /// Writes the last, partial chunk and the dataset's attributes.
  void finish();

  std::int64_t num_rows() const { return num_rows_; }
  const ActivationInfo& activation() const { return activation_; }

 private:
  void create_dataset();
  void write_chunk();

  Hdf5Writer& file_;
  ActivationInfo activation_;
  StorageType storage_;
  std::string name_;
  std::size_t row_bytes_;
  std::int64_t chunk_rows_;
  std::int64_t num_rows_ = 0;        // appended
  std::int64_t first_in_chunk_ = 0;  // of the rows in chunk_
  std::vector<std::byte> chunk_;     // whole chunk and its checksum
  hdf5::Id dataset_;
};

}  // namespace lime

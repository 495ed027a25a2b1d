// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/half.h"
#include "core/matrix.h"
#include "core/running_statistics.h"

namespace lime::python {

/// Collects the rows of one dataset of activations into chunks as the file stores them: the values,
/// then the Fletcher-32 checksum. Counts the statistics of each chunk while it is in the cache.
/// Not thread-safe; calls no Python.
class ChunkBuffer {
 public:
  /// @param name  of the dataset, for errors.
  /// @throws InvalidArgument  if a size is not positive.
  ChunkBuffer(std::string name, std::int64_t chunk_rows, std::int64_t dim, bool is_half);

  /// Copies rows of `rows`, [num_rows, dim], from `first` on until the chunk is full.
  /// @return the first row that did not fit. @throws InvalidArgument  if dim differs.
  std::int64_t add(const ConstMatrixRef& rows, std::int64_t first);

  std::int64_t num_rows() const { return num_rows_; }
  bool is_full() const { return num_rows_ == chunk_rows_; }

  /// Ends the chunk, with zeros for missing rows, and begins the next one.
  /// @return the bytes to store, valid until the next call.
  /// @throws InvalidArgument  if a finite value would overflow in float16.
  std::span<const std::byte> finish();
  /// Makes the chunk as small as its rows: a dataset of fewer rows than a chunk has one chunk.
  void shrink() { chunk_rows_ = num_rows_; }

  std::int64_t chunk_rows() const { return chunk_rows_; }
  std::int64_t dim() const { return dim_; }
  bool is_half() const { return is_half_; }
  const RunningStatistics& statistics() const { return statistics_; }

 private:
  void convert(std::size_t num_values, std::span<std::byte> bytes) const;

  std::string name_;
  std::int64_t chunk_rows_;
  std::int64_t dim_;
  bool is_half_;
  std::int64_t num_rows_ = 0;
  std::vector<float> values_;      ///< [chunk_rows, dim], and one more for the checksum
  std::vector<std::byte> halves_;  ///< the same in float16; empty for float32
  RunningStatistics statistics_;
};

}  // namespace lime::python

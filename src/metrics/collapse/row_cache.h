// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metrics/rows.h"

namespace lime {

/// Rows of a layer for several passes: kept in memory if they fit into `kept_bytes`, else read
/// again in every pass. Not thread-safe.
class RowCache {
 public:
  /// @param offsets  first row of each sequence, then the number of rows; must outlive this object.
  RowCache(SequenceSource sequences, const std::vector<std::int64_t>& offsets,
           std::int64_t kept_bytes);

  std::int64_t num_sequences() const { return sequences_.count; }
  std::int64_t num_rows() const { return offsets_[static_cast<std::size_t>(sequences_.count)]; }
  std::int64_t first_row(std::int64_t sequence) const {
    return offsets_[static_cast<std::size_t>(sequence)];
  }
  std::int64_t dim() const { return dim_; }
  /// Returns the rows of a sequence; valid until the next call.
  /// @throws InvalidArgument  if a value is not finite, at the first reading.
  const MatrixF& sequence(std::int64_t index);

 private:
  SequenceSource sequences_;
  const std::vector<std::int64_t>& offsets_;
  std::int64_t dim_ = 0;
  bool keeps_ = false;
  std::vector<MatrixF> kept_;
  MatrixF buffer_;
};

}  // namespace lime

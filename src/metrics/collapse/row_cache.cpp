// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/row_cache.h"

namespace lime {

RowCache::RowCache(SequenceSource sequences, const std::vector<std::int64_t>& offsets,
                   std::int64_t kept_bytes)
    : sequences_(std::move(sequences)),
      offsets_(offsets),
      kept_(static_cast<std::size_t>(sequences_.count)) {
  throw_if(sequences_.count == 0, "collapse: expected at least one sequence, got none");
  sequences_.read(0, buffer_);
  dim_ = buffer_.cols();
  throw_if(dim_ == 0, "collapse: rows must have at least one dimension");
  keeps_ = num_rows() * dim_ <= kept_bytes / static_cast<std::int64_t>(sizeof(float));
}

const MatrixF& RowCache::sequence(std::int64_t index) {
  MatrixF& kept = kept_[static_cast<std::size_t>(index)];
  if (kept.size() > 0) return kept;
  MatrixF& rows = keeps_ ? kept : buffer_;
  with_sequence("collapse", index, [&] {
    sequences_.read(index, rows);
    check_finite_rows(rows);
  });
  return rows;
}

}  // namespace lime

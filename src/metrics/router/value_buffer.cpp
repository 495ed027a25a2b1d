// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/value_buffer.h"

#include <algorithm>
#include <cstddef>

#include "core/errors.h"

namespace lime {
namespace {

using Eigen::Index;

}  // namespace

ValueBuffer::ValueBuffer(std::int64_t num_layers, std::int64_t num_key_value_heads,
                         std::int64_t head_dim)
    : num_layers_(num_layers), num_heads_(num_key_value_heads), head_dim_(head_dim) {
  throw_if(num_layers < 1 || num_key_value_heads < 1 || head_dim < 1,
           "value buffer: sizes must be >= 1, got {} layers, {} heads of {}", num_layers,
           num_key_value_heads, head_dim);
}

void ValueBuffer::resize(std::int64_t num_tokens) {
  num_tokens_ = num_tokens;
  data_.resize(static_cast<std::size_t>(num_sources() * head_dim_ * num_tokens));
}

void ValueBuffer::set_rows(std::int64_t layer, std::int64_t first_token,
                           const ConstMatrixRef& rows) {
  const Index width = num_heads_ * head_dim_;
  throw_if(
      layer < 0 || layer >= num_layers_ || rows.cols() != width || first_token < 0 ||
          first_token + rows.rows() > num_tokens_,
      "value buffer: rows [{}, {}] of layer {} at token {} do not fit into {} layers of [{}, {}]",
      rows.rows(), rows.cols(), layer, first_token, num_layers_, num_tokens_, width);
  // Tiled, so that neither side of the transposition leaves the cache.
  constexpr Index kTile = 32;
  for (Index first = 0; first < rows.rows(); first += kTile) {
    const Index last = std::min(first + kTile, rows.rows());
    for (Index head = 0; head < num_heads_; ++head) {
      for (Index dim = 0; dim < head_dim_; ++dim) {
        const Index column = head * head_dim_ + dim;
        float* const to = data_.data() +
                          (dim * num_sources() + layer * num_heads_ + head) * num_tokens_ +
                          first_token;
        for (Index t = first; t < last; ++t) to[t] = rows(t, column);
      }
    }
  }
}

std::int64_t ValueBuffer::bytes_for(std::int64_t num_tokens) const {
  return num_sources() * head_dim_ * num_tokens * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace lime

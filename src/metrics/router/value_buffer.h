// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// Values (or keys) of all layers for some tokens, laid out for routing.
///
/// Routing treats each dimension of a head separately: routed value c of a token is R (R_c of a
/// router per dimension) times the c-th dimensions of its buffered heads. So the buffer contains
/// one matrix per dimension, [num_sources, num_tokens], whose rows are the buffered heads in the
/// order of R's columns (oldest layer first): one matrix product per dimension routes all tokens.
class ValueBuffer {
 public:
  /// @throws InvalidArgument  if a size is below 1.
  ValueBuffer(std::int64_t num_layers, std::int64_t num_key_value_heads, std::int64_t head_dim);

  /// Resizes to `num_tokens` tokens; the contents are lost.
  void resize(std::int64_t num_tokens);
  /// Stores rows of one layer, [any, kv_heads * head_dim], from token `first_token` on. Different
  /// layers and tokens may be set from several threads at once.
  /// @throws InvalidArgument  if they do not fit.
  void set_rows(std::int64_t layer, std::int64_t first_token, const ConstMatrixRef& rows);

  std::int64_t num_layers() const { return num_layers_; }
  std::int64_t num_key_value_heads() const { return num_heads_; }
  std::int64_t head_dim() const { return head_dim_; }
  std::int64_t num_sources() const { return num_layers_ * num_heads_; }
  std::int64_t num_tokens() const { return num_tokens_; }
  /// Returns dimension `dim` of the buffered head in column `source` of the routers, [num_tokens].
  const float* source(std::int64_t dim, std::int64_t source) const {
    return data_.data() + (dim * num_sources() + source) * num_tokens_;
  }
  std::int64_t bytes_for(std::int64_t num_tokens) const;

 private:
  std::int64_t num_layers_;
  std::int64_t num_heads_;
  std::int64_t head_dim_;
  std::int64_t num_tokens_ = 0;
  std::vector<float> data_;
};

struct TokenRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lime {

/// Stores the keys and values of the preceding tokens: the next token then costs one step.
///
/// Contains what attention reads: routed values and routed, rotated keys. So the cache of a LIMe
/// model is as large as that of a LLaMA with the same heads: 2 * layers * seq * kv_heads * head_dim
/// numbers per sequence. An SVFormer cache contains the values of one layer per device only.
///
/// For inference only; not thread-safe.
class KeyValueCache {
 public:
  /// Returns the number of tokens per sequence that all layers have processed.
  std::int64_t length() const { return length_; }

  /// Removes all tokens; keeps the memory.
  void clear() { length_ = 0; }

  /// Keeps these sequences only, in this order; the others are finished.
  void keep(std::span<const std::int64_t> sequences);

  /// Returns the number of elements stored for the tokens so far, without reserved memory.
  std::int64_t num_elements() const;

  /// Appends to one layer and returns all keys and values of that layer, the new tokens included.
  /// @param keys, values  [batch, new_tokens, kv_heads, head_dim]
  /// @param shares_values  `values` equal those of layer `holder` and are not stored again
  /// @param holder         the first layer on the device
  /// @return views [batch, length + new_tokens, kv_heads, head_dim], valid until the next call.
  std::pair<at::Tensor, at::Tensor> append(int layer, const at::Tensor& keys,
                                           const at::Tensor& values, bool shares_values = false,
                                           int holder = 0);

  /// Adds `new_tokens` to length(). Called once per pass, after the last layer.
  void advance(std::int64_t new_tokens) { length_ += new_tokens; }

 private:
  std::int64_t length_ = 0;
  std::vector<std::pair<at::Tensor, at::Tensor>> layers_;  // [batch, kv_heads, capacity, head_dim]
};

}  // namespace lime

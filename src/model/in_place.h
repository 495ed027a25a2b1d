// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace lime {

// What a forward pass does to whole activations besides products, shared out by tokens with the
// loops of parallel_tiles.h. All tensors are [batch, seq, ...]; inference only.

/// x <- x + y.
void add_in_place(const at::Tensor& x, const at::Tensor& y);

/// to <- from.
void copy_in_place(const at::Tensor& to, const at::Tensor& from);

/// Calls `run(begin, length)` for ranges of tokens that make up [0, x.size(1)). For tensors that
/// uses_cpu_kernels() takes.
void for_each_token_range(const at::Tensor& x,
                          const std::function<void(std::int64_t, std::int64_t)>& run);

/// Rows of the embedding, [batch, seq, hidden].
/// @param table  [vocab, hidden]
/// @param ids    [batch, seq], each in [0, vocab)
at::Tensor embed(const at::Tensor& table, const at::Tensor& ids);

}  // namespace lime

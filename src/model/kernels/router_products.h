// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lime {

/// Weights of a router for one pass; `mixed` is kv_heads if a head reads all buffered heads, or 1.
struct RouterMixture {
  /// [kv_heads, sources, mixed, dims], dims = head_dim if each dimension has its own weight, else
  /// 1; or, if the weights depend on the token, [kv_heads, tokens, sources, mixed].
  at::Tensor weights;
  bool is_dynamic = false;
};

/// Adds one source, [kv_heads, tokens, 2, head_dim], to the routed keys and values; differentiable.
/// @param sum  over the previous sources; undefined for the first
at::Tensor add_source(const at::Tensor& sum, const RouterMixture& mixture, std::int64_t source,
                      const at::Tensor& block);

/// Mixes contiguous sources, for inference: one matrix product if heads are mixed by plain weights,
/// one product per head if they are not mixed.
/// @param buffered  [sources, kv_heads, tokens, 2, head_dim], contiguous
/// @param out       [kv_heads, tokens, 2, head_dim], contiguous
void mix_sources_out(at::Tensor& out, const RouterMixture& mixture, const at::Tensor& buffered);

/// Pointers to the rows of a wide matrix, wherever each is stored; all have the same length.
template <typename T> using WideRows = std::vector<T*>;

/// Computes out = left right for few rows and many columns: no packing or copying, each row is read
/// once. Instantiated for float and double.
/// @param left  [out.size(), right.size()], row-major
template <typename T>
void wide_rows_product(const WideRows<T>& out, const std::vector<T>& left,
                       const WideRows<const T>& right, std::int64_t columns);

/// Computes the backward pass of such a product for one factor, in one pass over `gradients`:
///
///   out = left gradients,    dots[r][g] = gradients[r] . rows[g]
///
/// The dots are summed over blocks of columns that depend only on the number of columns: results
/// are bit-identical for any number of threads.
/// @param left  [out.size(), gradients.size()], row-major
/// @return the dots, [gradients.size(), rows.size()], row-major
template <typename T>
std::vector<T> wide_rows_backward(const WideRows<T>& out, const std::vector<T>& left,
                                  const WideRows<const T>& gradients, const WideRows<const T>& rows,
                                  std::int64_t columns);

}  // namespace lime

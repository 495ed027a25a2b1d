// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace lime {

enum class Accumulate { kNo, kYes };

/// Multiplies two matrices: out = a b, or out += a b. Inference only.
///
/// On the CPU both factors are packed into panels that fit the caches and multiplied by a kernel
/// that keeps a tile of `out` in vector registers (the layout of Goto & van de Geijn 2008,
/// doi:10.1145/1356052.1356053). The summation order of each element depends only on the shapes:
/// results are bit-identical for any number of threads. A LibTorch with MKL, or another device,
/// uses LibTorch's own product.
///
/// @param out  [rows, columns], each row dense
/// @param a    [rows, inner], dense rows or dense columns
/// @param b    [inner, columns], likewise
void matrix_product_out(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                        Accumulate accumulate = Accumulate::kNo);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace lime {

/// Applies the elementwise gate: silu(gate) * up, silu(x) = x / (1 + exp(-x)).
/// Source: Shazeer (2020), arXiv:2002.05202.
/// @param gate, up  [..., intermediate]
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// Computes the same in one pass into existing memory. Requires uses_cpu_kernels(gate).
/// @param gate, up  [rows, intermediate], may be strided views whose last dimension is dense
/// @param out       [rows, intermediate], contiguous
void swiglu_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up);

}  // namespace lime

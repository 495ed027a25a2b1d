// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace lime {

/// Gates elementwise: silu(gate) * up, silu(x) = x / (1 + exp(-x)).
/// Source: Shazeer (2020), arXiv:2002.05202.
/// @param gate, up  [..., intermediate]
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// The same in one pass over memory that is there. Needs uses_cpu_kernels(gate).
/// @param gate, up  [rows, intermediate], may be strided views whose last dimension is dense
/// @param out       [rows, intermediate], contiguous
void swiglu_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up);

}  // namespace lime

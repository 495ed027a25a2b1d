// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "checkpoint/activation_spec.h"
#include "checkpoint/experts_spec.h"

namespace lime {

/// Applies the activation of an MLP and, for a gated one, multiplies by `up`.
/// @param gate, up  [..., intermediate]; `up` is undefined for a plain MLP
at::Tensor activate(const at::Tensor& gate, const at::Tensor& up, Activation activation);

/// Computes the same into existing memory, deterministic. Requires uses_cpu_kernels(gate).
/// @param gate, up  [rows, intermediate], may be strided views whose last dimension is dense
/// @param out       [rows, intermediate], contiguous
void activate_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up,
                  Activation activation);

/// Applies the gated activation of gpt-oss, with gradients; see ClampedGate.
at::Tensor clamped_gate(const at::Tensor& gate, const at::Tensor& up, const ClampedGate& bounds);

/// Computes the same into existing memory. Requires uses_cpu_kernels(gate).
/// @param gate, up  [rows, intermediate], may be strided views whose last dimension is dense
/// @param out       [rows, intermediate], contiguous
void clamped_gate_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up,
                      const ClampedGate& bounds);

/// Bounds values: cap * tanh(x / cap).
at::Tensor soft_cap(const at::Tensor& x, double cap);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lime {

/// True where the hand-written kernels of this module run: a float or double tensor in this
/// machine's memory, and no autograd graph is being built.
bool uses_cpu_kernels(const at::Tensor& tensor);

/// Number of items after which a parallel loop hands work to another thread, for items of
/// `operations_per_item` arithmetic operations: so that a small model runs on one thread.
std::int64_t parallel_grain(std::int64_t operations_per_item);

/// Applies a linear layer: x W^T + b.
///
/// On the processor the product is cut into tiles that depend on the shapes only; each is computed
/// by one thread with Eigen. So the bits are the same for any number of threads, and the speed does
/// not hang on how well the BLAS at hand knows the processor (docs/numerics.md). A LibTorch with
/// MKL, another device or an autograd graph uses LibTorch's own product.
///
/// @param x       [..., in_features]
/// @param weight  [out_features, in_features]
/// @param bias    [out_features], or undefined
/// @return [..., out_features]
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// The same into memory that is there. Inference only.
/// @param out  [..., out_features], contiguous
void linear_out(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias = {});

/// Multiplies a small matrix with a wide one: left right. Inference only; tiled like
/// apply_linear().
/// @param left   [rows, inner]
/// @param right  [inner, columns], each row dense
/// @param out    [rows, columns], contiguous
void wide_product_out(at::Tensor& out, const at::Tensor& left, const at::Tensor& right);

}  // namespace lime

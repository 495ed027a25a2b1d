// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "linalg/packed_product.h"

namespace lime {

/// Matrix with contiguous rows, like those of tensors.
template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Rows of a tensor, possibly strided.
template <typename T>
using RowMajorView = Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <typename T>
using ConstRowMajorView = Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Elements of one row.
template <typename T> using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <typename T> using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

using linalg::Accumulate;

/// Multiplies two matrices: out = a b, or out += a b. Inference only.
///
/// On the CPU both factors are packed into panels that fit the caches and multiplied by a kernel
/// that keeps a tile of `out` in registers (the layout of Goto & van de Geijn 2008,
/// doi:10.1145/1356052.1356053). The summation order depends only on the shapes: results do not
/// depend on the threads. A LibTorch with MKL, or another device, uses LibTorch's product.
///
/// @param out  [rows, columns], each row dense
/// @param a    [rows, inner], dense rows or dense columns
/// @param b    [inner, columns], likewise
void matrix_product_out(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                        Accumulate accumulate = Accumulate::kNo);

struct LinearWeights;

/// Returns true if the hand-written kernels apply: float or double on the CPU, without a graph.
bool uses_cpu_kernels(const at::Tensor& tensor);

/// Returns true for float32 and float64.
bool is_wide_type(const at::Tensor& tensor);

/// Returns true if only LibTorch's operations are used: on a GPU, or in a WithoutCpuKernels.
bool uses_gpu_operations(const at::Tensor& tensor);

/// While it exists, the calling thread computes on the CPU what it would on a GPU: with LibTorch's
/// operations only. For tests of that code.
class WithoutCpuKernels {
 public:
  WithoutCpuKernels();
  ~WithoutCpuKernels();
  WithoutCpuKernels(const WithoutCpuKernels&) = delete;
  WithoutCpuKernels& operator=(const WithoutCpuKernels&) = delete;

  /// Returns true if the calling thread has such an object.
  static bool here();

 private:
  bool before_;
};

/// Returns the grain size of a parallel loop (minimum items per thread) for items of
/// `operations_per_item` arithmetic operations; small models run on one thread.
std::int64_t parallel_grain(std::int64_t operations_per_item);

/// Applies a linear layer: x W^T + b.
///
/// On the CPU it is a product of matrix_product_out(), in slabs of at most kMaxSlab inner elements,
/// or one of Eigen for few rows. So results are bit-identical for any number of threads, and the
/// speed does not depend on how well the available BLAS supports the CPU (docs/numerics.md). A
/// LibTorch with MKL, another device or an autograd graph uses LibTorch's own product.
///
/// @param x       [..., in_features]
/// @param weight  [out_features, in_features]
/// @param bias    [out_features], or undefined
/// @return [..., out_features]
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// Computes the same into existing memory. Inference only.
/// @param out  [..., out_features], contiguous
void linear_out(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias = {});

/// Multiplies a small matrix [rows, inner] by a wide one [inner, columns]. Inference only.
void wide_product_out(at::Tensor& out, const at::Tensor& left, const at::Tensor& right);

/// Applies linear layers that share the same input x, with gradients.
///
///   y_i  = x W_i^T + b_i
///   dx   = sum_i dy_i W_i
///   dW_i = dy_i^T x
///   db_i = sum over rows of dy_i
///
/// On the CPU each product is matrix_product_out() or one of this file, and dx is accumulated in
/// place.
/// Elsewhere these are LibTorch's linear layers.
/// @param x  [batch, seq, in_features]
/// @return for each layer [batch, seq, out_features]
std::vector<at::Tensor> linear_with_gradients(const at::Tensor& x,
                                              const std::vector<const LinearWeights*>& layers);

}  // namespace lime

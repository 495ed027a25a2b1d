// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace lime::gpu_module {

/// Computes the eigenvalues of symmetric matrices on their device, in the calling thread's current
/// stream, which must be the default stream on a GPU.
///
/// On a GPU with cuSOLVER's cusolverDnXsyevBatched() (CUDA 12.6 and later), which reduces all
/// matrices at once; at::linalg_eigvalsh() reduces them one after the other. That one is used
/// elsewhere, with an older cuSOLVER, and for sizes that the function does not support.
///
/// cuSOLVER is the library that LibTorch has loaded: no build needs CUDA's headers. For tests,
/// LIME_CUSOLVER_STAND_IN names a library with its functions to use instead, also on the CPU.
///
/// @param matrices  double, [count, n, n]; overwritten.
/// @return [count, n], ascending.
/// @throws std::exception  with one line if the device fails or a matrix does not converge.
/// Thread-safe; one call at a time computes.
at::Tensor batched_eigenvalues(at::Tensor matrices);

}  // namespace lime::gpu_module

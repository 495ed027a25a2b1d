// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "model/decoders/decoder.h"

/// Skips a test without a GPU. A macro, because a function could not return from the test.
#define LIME_SKIP_WITHOUT_GPU()                                                       \
  if (!torch::cuda::is_available()) {                                                 \
    GTEST_SKIP() << "needs a GPU and a LibTorch built for it; LibTorch sees no GPU "; \
  }                                                                                   \
  static_assert(true)

namespace lime::testing {

inline DecoderOptions on_gpu(ComputeType dtype = ComputeType::kFloat32) {
  return {.devices = {c10::Device(c10::kCUDA, 0)}, .dtype = dtype};
}

/// Copies a decoder to another device or type.
inline Decoder copy_of(const Decoder& decoder, const DecoderOptions& options) {
  Decoder copy(decoder.config(), 1, options);
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : decoder.parameters()) {
    at::Tensor(copy.parameter(parameter.name)).copy_(parameter.tensor);
  }
  return copy;
}

/// Returns the largest difference from the CPU's result, relative to that one's largest entry.
inline double relative_difference(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor reference = expected.to(at::kDouble);
  const at::Tensor difference = found.to(at::kCPU, at::kDouble) - reference;
  return (difference.abs().max() / reference.abs().max()).item<double>();
}

/// Tolerance of the compute type relative to the largest entry: several roundings each, of 2^-53,
/// 2^-24, 2^-11 and 2^-8.
inline double tolerance_of(ComputeType dtype) {
  switch (dtype) {
    case ComputeType::kFloat64: return 1e-12;
    case ComputeType::kFloat32: return 2e-5;
    case ComputeType::kFloat16: return 2e-2;
    case ComputeType::kBfloat16: return 1e-1;
  }
  return 0.0;
}

}  // namespace lime::testing

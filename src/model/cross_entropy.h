// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lime {

/// A target of no interest: padding, or a token of the prompt.
inline constexpr std::int64_t kIgnoredTarget = -100;

/// The summed cross-entropy of targets under the logits x W^T, in nats.
///
///   sum over rows i of log(sum_j exp(z_ij)) - z_i,target(i),    z = x W^T
///
/// On the processor only rows with a target are multiplied, and where gradients are wanted the
/// logits' gradients are written over them at once: memory is one matrix [targets, vocab], where
/// LibTorch's derivatives keep three.
/// @param x        [rows, hidden]
/// @param weight   [vocab, hidden], the output projection
/// @param targets  int64 [rows], in [0, vocab) or kIgnoredTarget
/// @return a scalar, differentiable
at::Tensor summed_cross_entropy(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& targets);

}  // namespace lime

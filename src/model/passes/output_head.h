// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "checkpoint/decoder_spec.h"
#include "model/decoders/decoder_weights.h"

namespace lime {

/// Target that is excluded from the loss: padding, or a token of the prompt.
inline constexpr std::int64_t kIgnoredTarget = -100;

/// Returns the summed cross-entropy of targets under the logits x W^T, in nats.
///
///   sum over rows i of log(sum_j exp(z_ij)) - z_i,target(i),    z = x W^T
///
/// On the CPU only rows with a target are multiplied. The gradient of the logits overwrites them:
/// memory is one matrix [targets, vocab], while LibTorch's autograd keeps three.
/// @param x        [rows, hidden]
/// @param weight   [vocab, hidden], the output projection
/// @param targets  int64 [rows], in [0, vocab) or kIgnoredTarget
/// @return a scalar, differentiable
at::Tensor summed_cross_entropy(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& targets);

/// Computes logits [..., vocab] from the normalised residual stream: projection, bias, divisor,
/// soft cap.
at::Tensor output_logits(const at::Tensor& normalized, const DecoderWeights& weights,
                         const DecoderSpec& spec);

/// Returns the summed cross-entropy of targets, see summed_cross_entropy().
/// @param targets  int64, in [0, vocab) or kIgnoredTarget
at::Tensor output_loss(const at::Tensor& normalized, const at::Tensor& targets,
                       const DecoderWeights& weights, const DecoderSpec& spec);

}  // namespace lime

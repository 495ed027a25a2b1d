// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "checkpoint/decoder_spec.h"
#include "model/decoders/decoder_weights.h"

namespace lime {

/// Computes logits from the normalised residual stream: projection, divisor and soft cap.
/// @param normalized  [..., hidden]
/// @return [..., vocab], on the device of the output projection
at::Tensor output_logits(const at::Tensor& normalized, const DecoderWeights& weights,
                         const DecoderSpec& spec);

/// Returns the summed cross-entropy of targets, see summed_cross_entropy().
/// @param targets  int64, in [0, vocab) or kIgnoredTarget
at::Tensor output_loss(const at::Tensor& normalized, const at::Tensor& targets,
                       const DecoderWeights& weights, const DecoderSpec& spec);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "model/passes/output_head.h"

#include <ATen/Functions.h>

#include "model/kernels/activation.h"
#include "model/kernels/cross_entropy.h"
#include "model/kernels/linear.h"

namespace lime {
namespace {

/// Returns the input of the output projection, on its device: a tied projection is on that of the
/// embedding.
at::Tensor head_input(const at::Tensor& normalized, const DecoderWeights& weights) {
  const at::Tensor x = weights.project_out.weight.defined()
                           ? apply_linear(normalized, weights.project_out.weight)
                           : normalized;
  return x.to(weights.lm_head.device());
}

}  // namespace

at::Tensor output_logits(const at::Tensor& normalized, const DecoderWeights& weights,
                         const DecoderSpec& spec) {
  at::Tensor logits = apply_linear(head_input(normalized, weights), weights.lm_head);
  if (spec.logits_divisor != 1.0) logits = logits / spec.logits_divisor;
  return spec.logits_softcap ? soft_cap(logits, *spec.logits_softcap) : logits;
}

at::Tensor output_loss(const at::Tensor& normalized, const at::Tensor& targets,
                       const DecoderWeights& weights, const DecoderSpec& spec) {
  const at::Tensor on_device = targets.to(weights.lm_head.device()).flatten();
  if (spec.logits_divisor == 1.0 && !spec.logits_softcap) {
    return summed_cross_entropy(head_input(normalized, weights).flatten(0, 1), weights.lm_head,
                                on_device);
  }
  return at::cross_entropy_loss(output_logits(normalized, weights, spec).flatten(0, 1), on_device,
                                {}, at::Reduction::Sum, kIgnoredTarget);
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "checkpoint/activation_spec.h"
#include "checkpoint/experts_spec.h"
#include "model/kernels/linear_weights.h"
#include "model/kernels/workspace.h"

namespace lime {

/// The experts of each token and their weights in the sum, both [tokens, experts per token].
struct ExpertChoice {
  at::Tensor indices;  ///< int64, by descending logit, of equal logits the lower number first
  at::Tensor weights;
};

/// Selects the experts with the largest logits and computes their weights, with gradients.
/// @param logits  [tokens, experts]
ExpertChoice choose_experts(const at::Tensor& logits, const ExpertsSpec& spec);

/// Computes a mixture of experts, with gradients: for each token x the sum over its experts e of
///
///   weight_e * down_e(act(gate_e(x)) * up_e(x))
///
/// in the order of `choice`. On the CPU tokens are sorted by expert, and each expert with tokens
/// has one product. Sums depend neither on the threads nor, except in a pass of a single token, on
/// the experts of other tokens. Experts without tokens have gradients of zero.
///
/// @param x          [tokens, hidden], each row dense
/// @param workspace  memory of the result, required without gradients on the CPU; or null
/// @return [tokens, hidden]
at::Tensor apply_experts(const at::Tensor& x, const ExpertChoice& choice,
                         const std::vector<ExpertWeights>& experts, const ExpertsSpec& spec,
                         Activation activation, Workspace* workspace);

/// Multiplies rows by the sigmoid of a logit each, with gradients.
/// @param x       [tokens, hidden]
/// @param logits  [tokens, 1]
at::Tensor apply_gate(const at::Tensor& x, const at::Tensor& logits);

/// Computes the load balancing loss of Switch Transformers (arXiv:2101.03961, equations 4 to 6)
/// over the routers of all layers, as transformers does: E sum_e f_e P_e with f_e the number of
/// times that expert e was selected per token, P_e its mean probability. With gradients of the
/// logits.
/// @param logits   of each layer, [tokens, experts]
/// @param indices  of each layer, [tokens, experts per token]
at::Tensor load_balancing_loss(const std::vector<at::Tensor>& logits,
                               const std::vector<at::Tensor>& indices);

}  // namespace lime

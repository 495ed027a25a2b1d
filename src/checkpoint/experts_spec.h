// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace lime {

/// Selects how a file stores the experts of a layer, E experts of width I.
enum class ExpertLayout {
  kSeparate,     ///< three tensors per expert: Mixtral, Qwen, OLMoE
  kPacked,       ///< [E, 2 I, hidden], rows of gate, then up; [E, hidden, I]: Granite
  kInterleaved,  ///< [E, hidden, 2 I], columns of gate and up in turn; [E, I, hidden]: gpt-oss
  kPackedParts   ///< [E, I, hidden] for gate and for up; [E, hidden, I]: GGUF
};

/// Bounds of the gated activation of gpt-oss: with g = min(gate, limit) and u = up within +-limit,
/// (u + 1) g sigmoid(alpha g).
struct ClampedGate {
  double alpha = 1.702;
  double limit = 7.0;  ///< > 0

  bool operator==(const ClampedGate&) const = default;
};

/// Describes mixtures of experts: a router selects num_experts_per_tok of num_experts gated MLPs
/// for each token, and the output is their weighted sum. The keys are those of transformers.
struct ExpertsSpec {
  std::int64_t num_experts = 0;          ///< in [1, 4096]
  std::int64_t num_experts_per_tok = 0;  ///< in [1, num_experts]
  std::int64_t intermediate_size = 0;    ///< width of one expert
  /// The weights are the softmax of the logits of the selected experts, and add up to 1; false: of
  /// those of all experts.
  bool normalizes_weights = true;
  /// Width of an expert that every token passes, times the sigmoid of a gate (Qwen2-MoE).
  std::optional<std::int64_t> shared_intermediate_size = std::nullopt;
  bool bias = false;                                       ///< of router and experts
  std::optional<ClampedGate> clamped_gate = std::nullopt;  ///< instead of DecoderSpec::activation
  /// Factor of the load balancing loss in training; 0: none.
  double aux_loss_coef = 0.0;
  ExpertLayout layout = ExpertLayout::kSeparate;

  bool operator==(const ExpertsSpec&) const = default;
};

}  // namespace lime

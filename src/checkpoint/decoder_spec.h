// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/activation_spec.h"
#include "checkpoint/experts_spec.h"
#include "checkpoint/norm_spec.h"
#include "checkpoint/rope_spec.h"
#include "checkpoint/tensor_names.h"
#include "core/options.h"

namespace lime {

/// Selects the norm of queries and keys.
enum class QkNorm {
  kNone,
  kPerHead,         ///< weight [head_dim]: Qwen3, Gemma 3
  kEachHeadItsOwn,  ///< of each head by itself, weight [heads * head_dim]: Command R+
  kWholeProjection  ///< weight [heads * head_dim]: OLMo 2
};

/// Selects how a file stores the projections of queries, keys and values.
enum class QkvLayout {
  kSeparate,      ///< three tensors
  kConcatenated,  ///< one tensor, rows of q, then k, then v: Phi-3, GPT-2
  kPerHead,       ///< one tensor, per key-value head its rows of q, k and v: GPT-NeoX, Falcon
  kFourShards     ///< one tensor, in each of four parts the rows of q, v and k: CodeGen
};

/// Stores what differs from layer to layer.
struct LayerSpec {
  /// Number of latest positions, itself included, that a token attends to; none: all.
  std::optional<std::int64_t> window = std::nullopt;
  /// Index into DecoderSpec::ropes; none: no rotation.
  std::optional<std::size_t> rope = 0;
  /// Factor of the dot products; none: 1 / sqrt(head_dim).
  std::optional<double> attention_scale = std::nullopt;
  /// Width of the MLP; none: intermediate_size.
  std::optional<std::int64_t> intermediate_size = std::nullopt;
  /// Has an MLP where other layers have DecoderSpec::experts.
  bool is_dense = false;

  bool operator==(const LayerSpec&) const = default;
};

/// Describes a family of decoders: everything in which families differ, as data. The defaults are
/// LLaMA's. A family's reader (checkpoint/families) fills it in from config.json; parameters,
/// forward pass, cost and memory read it, and no other file asks for the family.
struct DecoderSpec {
  NormSpec norm;
  NormPlacement norm_placement = NormPlacement::kBefore;
  bool has_final_norm = true;
  QkNorm qk_norm = QkNorm::kNone;
  std::optional<NormSpec> head_norm = std::nullopt;  ///< of queries and keys; none: `norm`
  bool rotates_before_norm = false;  ///< queries and keys are normalised last (HunYuan)

  bool qkv_bias = false;
  bool o_bias = false;
  /// Bounds c of queries, keys and values: min(max(x, -c), c) (OLMo).
  std::optional<double> qkv_clip = std::nullopt;
  bool clips_after_norm = false;  ///< queries and keys are normalised first (OLMoE)
  /// The softmax of a head has one more logit, a parameter, whose weight is dropped (gpt-oss).
  bool attention_sinks = false;
  /// Soft cap c of the scores: c tanh(score / c), before the mask.
  std::optional<double> attention_softcap = std::nullopt;

  /// Distinct rotary embeddings, which LayerSpec::rope selects from; empty: none.
  std::vector<RopeSpec> ropes = {RopeSpec{}};
  std::int64_t rotary_dim = 0;  ///< leading dimensions of a head that rotate, even; 0: all
  /// A dimension rotates with its neighbour (GPT-J, Cohere), not with the one half a head away.
  bool interleaved_rotation = false;
  /// Row of the learned position embedding for position 0 (GPT-2: 0, OPT: 2); none: not learned.
  std::optional<std::int64_t> learned_position_offset = std::nullopt;
  /// One entry per layer, or a single one for all layers.
  std::vector<LayerSpec> layers = {LayerSpec{}};

  bool gated_mlp = true;  ///< down(act(gate(x)) * up(x)); false: down(act(up(x)))
  Activation activation = Activation::kSilu;
  bool mlp_bias = false;
  /// Mixtures of experts in place of the MLP, in all layers that are not `is_dense`.
  std::optional<ExpertsSpec> experts = std::nullopt;

  /// x + attention(norm(x)) + mlp(norm'(x)) instead of one after the other (GPT-NeoX).
  bool parallel_residual = false;
  /// Attention and MLP in parallel read the same norm (GPT-J, Phi): there is no `mlp_norm`.
  bool shares_input_norm = false;
  bool output_bias = false;           ///< of the output projection
  double embedding_multiplier = 1.0;  ///< of token embeddings
  double residual_multiplier = 1.0;   ///< of the outputs of attention and MLP
  double logits_divisor = 1.0;        ///< Granite's logits_scaling
  std::optional<double> logits_softcap = std::nullopt;
  /// Width of the token embedding where it differs from hidden_size (OPT's word_embed_proj_dim).
  std::optional<std::int64_t> embedding_size = std::nullopt;

  QkvLayout qkv_layout = QkvLayout::kSeparate;
  bool fused_gate_up = false;       ///< the file has one tensor, rows of gate, then up (Phi-3)
  bool transposed_linears = false;  ///< layers' matrices are [inputs, outputs] in the file (GPT-2)
  TensorNames names;

  const LayerSpec& layer(std::int64_t index) const {
    return layers[layers.size() == 1 ? 0 : static_cast<std::size_t>(index)];
  }

  /// Returns the mixture of experts of a layer, or null if it has an MLP.
  const ExpertsSpec* experts_of(std::int64_t index) const {
    return experts && !layer(index).is_dense ? &*experts : nullptr;
  }

  bool operator==(const DecoderSpec&) const = default;
};

}  // namespace lime

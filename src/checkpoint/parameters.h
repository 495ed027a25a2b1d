// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/weights/tensor_view.h"

namespace lime {

/// Names what a parameter is for, in the order of the forward pass.
enum class Part {
  kEmbedding,
  kPositions,     ///< learned positions
  kProjectIn,     ///< from the width of the embedding to hidden_size
  kInputNorm,     ///< before attention, or before its queries only
  kKeyInputNorm,  ///< before the keys, as the next before the values, if they have their own
  kValueInputNorm,
  kHyperAttention,   ///< index: static_alpha, static_beta, then the dynamic ones
  kAttentionRouter,  ///< what attention reads of the residual stream; see DepthRouterWeights
  kQuery,
  kKey,
  kValue,
  kQueryNorm,
  kKeyNorm,
  kRouter,  ///< index: static_weights, q_proj, keys
  kSinks,   ///< logits of attention sinks
  kAttentionOutput,
  kAttentionNorm,  ///< after attention
  kMlpNorm,        ///< before the MLP
  kHyperFeedForward,
  kFeedForwardRouter,
  kExpertRouter,  ///< of a mixture of experts, as are the following three, which have an `expert`
  kExpertGate,
  kExpertUp,
  kExpertDown,
  kSharedExpertGate,  ///< factor of the shared expert, which is the MLP of its layer
  kGate,
  kUp,
  kDown,
  kOutputNorm,  ///< after the MLP
  kDepthAverage,
  kOutputRouter,  ///< after the layer
  kFinalRouter,   ///< before the final norm; this and the following are behind the layers
  kFinalNorm,
  kProjectOut,  ///< back to the width of the embedding
  kHead         ///< output projection
};

/// Returns true for parameters behind the layers: of those without a layer, the others are before.
constexpr bool is_behind_layers(Part part) { return part >= Part::kFinalRouter; }

/// Locates a parameter [heads * parts * rows, columns] in a stored tensor: element
/// ((h * parts + p) * rows + r, c) is at `offset + h * head_stride + p * part_stride +
/// r * row_stride + c * column_stride`, counted in elements.
struct StoredPlace {
  std::string name;
  Shape shape;  ///< of the stored tensor
  std::int64_t offset = 0;
  std::int64_t heads = 1;
  std::int64_t head_stride = 0;
  std::int64_t parts = 1;  ///< of a head whose rows are stored in turn, part by part
  std::int64_t part_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  /// Returns the place of the first element of `row`, one of `num_rows`.
  std::int64_t row_start(std::int64_t row, std::int64_t num_rows) const {
    const std::int64_t rows = num_rows / (heads * parts);
    const std::int64_t part = row / rows;
    return offset + part / parts * head_stride + part % parts * part_stride +
           row % rows * row_stride;
  }
};

/// Describes a parameter: purpose, name, shape, and its place in the files of the family.
struct ParameterSpec {
  std::string name;
  Shape shape;
  Part part = Part::kEmbedding;
  int index = 0;             ///< of linear layers and norms: 0 weight, 1 bias
  std::int64_t layer = -1;   ///< -1 outside the layers
  std::int64_t expert = -1;  ///< -1 outside the experts
  bool is_decayed = true;    ///< weight decay applies in training, as in the public code
  StoredPlace stored;

  /// Returns true if the tensor of the file is the parameter itself.
  bool is_stored_alone() const {
    return stored.name == name && stored.shape == shape && stored.column_stride == 1;
  }
};

/// Lists all parameters of a decoder in the order of the forward pass, from which weights, files,
/// counts and cost derive. Names are those of the family in transformers (see TensorNames), for
/// LLaMA `model.embed_tokens.weight`, then `model.layers.{l}.` with `input_layernorm.weight`,
/// `self_attn.{q,k,v}_proj.weight|bias`, `self_attn.o_proj.weight|bias`,
/// `post_attention_layernorm.weight`, `mlp.{gate,up,down}_proj.weight|bias`, then
/// `model.norm.weight` and, unless tied or absent, `lm_head.weight`. Projections are [outputs,
/// inputs]; the parts of a fused tensor are separate, as are experts:
/// `mlp.gate.weight` [experts, hidden], then `mlp.experts.{e}.{gate,up,down}_proj.weight|bias`,
/// then `mlp.shared_expert.{gate,up,down}_proj.weight` and `mlp.shared_expert_gate.weight` [1,
/// hidden]. Attention sinks are `self_attn.sinks` [heads], before `o_proj`. Routings add:
///
///   lime               `self_attn.lime_router.static_weights` (l >= 1; see static_router_shape(),
///                      oldest source first), before `o_proj`; or, if dynamic,
///                      `self_attn.lime_router.q_proj.weight` [kv_heads * head_dim, hidden] and
///                      `self_attn.lime_router.keys` [S * kv_heads, head_dim] ([S, head_dim]
///                      without head mixing)
///   denseformer        `model.dwa_modules.alphas.{l}.weight` [1, outputs averaged], oldest first,
///                      after the layers that average
///   hyper_connections  `hc_attn.` and `hc_mlp.` with `static_alpha` [rate, rate + 1],
///                      `static_beta` [rate] and, if dynamic, `dynamic_alpha_fn` [hidden, rate +
///                      1], `dynamic_alpha_scale` [1], `dynamic_beta_fn` [hidden],
///                      `dynamic_beta_scale` [1], as the LIMe paper's code has them; its layers'
///                      norms have no weights
///   resformer          no `v_proj` for l >= 1 if first_layer_values_only
///   attn_res           `attn_res_proj.weight` [1, hidden], `attn_res_norm.weight` [hidden] and,
///                      with a recency bias, the scalar `attn_res_bias`; the same as `mlp_res_`
///                      and, unless the sources are states, `model.final_res_`
///   mhc                `attn_hc.` and `ffn_hc.` with `fn` [(2 + n) n, n hidden], `base`
///                      [(2 + n) n] and `scale` [3], n = hc_mult; `model.hc_head.` with `hc_fn`
///                      [n, n hidden], `hc_base` [n], `hc_scale` [1]
///   mudd               norms `input_layernorm_k` and `input_layernorm_v` for l >= 1; after each
///                      layer `model.dynamic_dense.{l}.w1.weight` [inner, hidden],
///                      `model.dynamic_dense.{l}.w2.weight` [ways * (l + 2), inner] and
///                      `model.dense_bs.{l}` [ways, l + 2]; 4 ways, after the last layer 1
std::vector<ParameterSpec> parameter_specs(const ModelConfig& config);

/// Returns the place of a parameter of an expert in a tensor that has those of all experts.
StoredPlace packed_place(const ModelConfig& config, const ParameterSpec& spec, ExpertLayout layout);

/// Returns false for the layers of an SVFormer that read the values of layer 0.
bool has_own_values(const ModelConfig& config, std::int64_t layer);

/// Returns the number of outputs that DenseFormer's average after `layer` reads: this layer's and
/// every dilation-th before it, down to the embedding; 0 if there is no average.
std::int64_t num_averaged_outputs(const ModelConfig& config, std::int64_t layer);

/// `model.layers.{layer}.{name}`, with the names of the family.
std::string layer_parameter(const ModelConfig& config, std::int64_t layer, std::string_view name);

/// Returns true if the parameter mixes layers or residual streams.
bool is_routing(Part part);

/// Returns true for weights that only some tokens pass: those of the experts.
bool is_expert(Part part);

/// Returns true for weights and biases of norms.
bool is_norm(Part part);

/// Returns the number of scalars in parameter_specs(); a tied embedding counts once.
std::int64_t parameter_count(const ModelConfig& config);

}  // namespace lime

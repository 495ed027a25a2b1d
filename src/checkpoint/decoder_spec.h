// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// Selects the normalisation; eps is added to the mean square or the variance.
enum class NormKind {
  kRms,         ///< weight * x / rms(x)
  kRmsPlusOne,  ///< (1 + weight) * x / rms(x), as Gemma stores it
  kLayerNorm    ///< weight * (x - mean(x)) / std(x) + bias
};

struct NormSpec {
  NormKind kind = NormKind::kRms;
  bool has_bias = false;   ///< LayerNorm only
  bool has_weight = true;  ///< false: no parameters (OPT without elementwise affine)
  double eps = 1e-6;       ///< >= 0
  /// Multiply by the weight before rounding to a 16-bit compute type (Gemma, OLMo 2), not after.
  bool rounds_after_weight = false;

  bool operator==(const NormSpec&) const = default;
};

/// Selects where the norms of attention and MLP are, f being one of the two.
enum class NormPlacement {
  kBefore,   ///< x + f(norm(x)): LLaMA, GPT-2
  kAfter,    ///< x + norm(f(x)): OLMo 2
  kBoth,     ///< x + norm(f(norm(x))): Gemma 2
  kAfterSum  ///< norm(x + f(x)): OPT 350M, post-LN
};

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

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu, kReluSquared };

constexpr auto names_of(Activation) {
  return names_in_order<Activation>("silu", "gelu", "gelu_pytorch_tanh", "relu", "relu2");
}

/// Selects how the rotary frequencies are scaled beyond the pre-training context.
enum class RopeKind { kDefault, kLinear, kDynamic, kLlama3, kYarn, kLongRope };

constexpr auto names_of(RopeKind) {
  return names_in_order<RopeKind>("default", "linear", "dynamic", "llama3", "yarn", "longrope");
}

/// Stores a rotary embedding with the keys and the meaning of transformers. Values that depend on
/// other keys (`attention_factor`, a `factor` derived from two lengths) are resolved by the reader.
///
/// linear: every inverse frequency f becomes f / factor.
/// dynamic: beyond original_max_position_embeddings, theta grows with the length of the sequence.
/// llama3: with the wavelength w = 2 pi / f and the context c = original_max_position_embeddings,
///   f where w < c / high_freq_factor, f / factor where w > c / low_freq_factor, between them
///   (1 - s) f / factor + s f with s = (c / w - low_freq_factor) / (high_freq_factor -
///   low_freq_factor).
/// yarn: f / factor for slow dimensions, f for fast ones, a linear ramp between beta_slow and
///   beta_fast rotations per context.
/// longrope: f divided by short_factor, or by long_factor for sequences beyond
///   original_max_position_embeddings.
/// Source: modeling_rope_utils.py of transformers; rotary_frequencies() computes them.
struct RopeSpec {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000.0;         ///< > 0
  double factor = 1.0;            ///< > 0; linear, dynamic, llama3, yarn
  double attention_factor = 1.0;  ///< multiplies cosine and sine; yarn, longrope
  double low_freq_factor = 1.0;   ///< > 0; llama3, as is the following
  double high_freq_factor = 4.0;
  double beta_fast = 32.0;  ///< yarn, as are the following two
  double beta_slow = 1.0;
  bool truncate = true;                   ///< round the ends of the ramp to whole dimensions
  std::vector<double> short_factor = {};  ///< longrope: [rotary_dim / 2], as is the following
  std::vector<double> long_factor = {};
  /// Pre-training context; dynamic, llama3, yarn, longrope.
  std::int64_t original_max_position_embeddings = 0;

  bool operator==(const RopeSpec&) const = default;
};

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

/// Contains the names of a family's tensors, without `.weight` and `.bias`. The defaults are
/// LLaMA's. A tensor of a layer is `{prefix}{layers}.{layer}.{name}`, another one `{prefix}{name}`,
/// except `output`, which has no prefix. Parts of a fused tensor are known to us under the names of
/// the parts; only the file has the fused name.
struct TensorNames {
  std::string prefix = "model.";
  std::string layers = "layers";
  std::string embedding = "embed_tokens";
  std::string positions = "embed_positions";   ///< learned positions
  std::string project_in = "project_in";       ///< OPT 350M
  std::string project_out = "project_out";     ///< OPT 350M
  std::string input_norm = "input_layernorm";  ///< before attention
  /// Norms of q, k and v in layers that split their input (MUDD); empty: input_norm, "_k", "_v".
  std::vector<std::string> split_input_norms = {};
  std::string attention_norm =
      "post_attention_layernorm";                     ///< after attention: kAfter, kBoth, kAfterSum
  std::string mlp_norm = "post_attention_layernorm";  ///< before the MLP: kBefore, kBoth
  std::string output_norm =
      "post_feedforward_layernorm";  ///< after the MLP: kAfter, kBoth, kAfterSum
  std::string q = "self_attn.q_proj";
  std::string k = "self_attn.k_proj";
  std::string v = "self_attn.v_proj";
  std::string qkv = "self_attn.qkv_proj";  ///< in the file, unless QkvLayout::kSeparate
  std::string q_norm = "self_attn.q_norm";
  std::string k_norm = "self_attn.k_norm";
  std::string o = "self_attn.o_proj";
  std::string gate = "mlp.gate_proj";
  std::string up = "mlp.up_proj";            ///< the first product of a plain MLP
  std::string gate_up = "mlp.gate_up_proj";  ///< in the file, if fused_gate_up
  std::string down = "mlp.down_proj";
  std::string sinks = "self_attn.sinks";  ///< one logit per head, without `.weight`
  std::string router = "mlp.gate";        ///< of a mixture of experts
  std::string experts = "mlp.experts";    ///< `{experts}.{number}.{expert_gate}`
  std::string expert_gate = "gate_proj";
  std::string expert_up = "up_proj";
  std::string expert_down = "down_proj";
  /// Packed experts; a bias has `.bias` in place of the file's `.weight`, else it adds `_bias`.
  std::string packed_gate_up = "mlp.experts.gate_up_proj";
  std::string packed_gate = {};  ///< of ExpertLayout::kPackedParts
  std::string packed_up = {};
  std::string packed_down = "mlp.experts.down_proj";
  std::string shared_expert = "mlp.shared_expert.{}_proj";  ///< of its gate, up and down
  std::string shared_expert_gate = "mlp.shared_expert_gate";
  std::string final_norm = "norm";
  std::string output = "lm_head";
  /// Another name of `output`: that of state_dict(), where save_pretrained() renames it; or empty.
  std::string output_alias = {};
  /// Other names of parts of a layer's tensors, and ours: {".mlp.gate.",
  /// ".block_sparse_moe.gate."}.
  std::vector<std::pair<std::string, std::string>> aliases = {};
  /// Endings of buffers that follow from the config and are not read: "attn.bias" of GPT-2.
  std::vector<std::string> ignored = {};

  bool operator==(const TensorNames&) const = default;
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

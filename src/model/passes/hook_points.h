// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lime {

/// Kinds of activation, in the order in which a forward pass computes them. The names are
/// TransformerLens's; routed_k, routed_v and profile are ours. Shapes:
///
///   embed, resid_*, attn_out, mlp_out, final_normalized   [batch, seq, hidden]
///   q, rot_q, z                                           [batch, seq, num_heads, head_dim]
///   k, v, routed_k, routed_v, rot_k                       [batch, seq, kv_heads, head_dim]
///   route                                                 [batch, seq, kv_heads, sources]
///   depth_weights                                         [batch, seq, reads, sources]
///   attn_scores, pattern                                  [batch, num_heads, queries, keys]
///   profile                                               [batch, seq, num_heads, 6]
///   pre (gate), pre_linear (up), post                     [batch, seq, intermediate]
///
/// route is KeyValueMixer::weights(); without a mixer a head reads its own layer. depth_weights are
/// the coefficients of the sources (the embedding, then the outputs of attention and MLP per layer,
/// num_depth_sources()) in what the layer reads of the residual stream (depth_reads()): exact,
/// because streams mix linearly. Both are functions of activations and cannot be replaced.
///
/// attn_out and mlp_out are what is added to the residual stream: after the norms that follow
/// attention and MLP (OLMo 2, Gemma 2) and the residual multiplier (Granite). A post-LN precedes
/// resid_mid and resid_post. If the MLP runs beside attention (GPT-NeoX), resid_mid, which
/// TransformerLens lacks, is resid_pre + attn_out. A plain MLP has no pre_linear.
enum class HookKind : std::uint8_t {
  kEmbed,            ///< hook_embed: token embedding, scaled; before learned positions
  kResidPre,         ///< blocks.{l}.hook_resid_pre: input of the block
  kQ,                ///< blocks.{l}.attn.hook_q: output of W_Q, before norm and rotation
  kK,                ///< blocks.{l}.attn.hook_k: output of W_K, before router, norm and rotation
  kV,                ///< blocks.{l}.attn.hook_v: output of W_V, before the router; `values`
  kRoute,            ///< blocks.{l}.attn.hook_route: weights of the layers in k and v; read only
  kRoutedK,          ///< blocks.{l}.attn.hook_routed_k: mixed by the router; LLaMA: equals k
  kRoutedV,          ///< blocks.{l}.attn.hook_routed_v: what attention reads; `routed_values`
  kRotQ,             ///< blocks.{l}.attn.hook_rot_q
  kRotK,             ///< blocks.{l}.attn.hook_rot_k
  kAttnScores,       ///< blocks.{l}.attn.hook_attn_scores: scaled and masked, before softmax
  kPattern,          ///< blocks.{l}.attn.hook_pattern: after softmax
  kAttnProfile,      ///< blocks.{l}.attn.hook_profile: measures of the pattern, read only
  kZ,                ///< blocks.{l}.attn.hook_z: before W_O
  kAttnOut,          ///< blocks.{l}.hook_attn_out
  kResidMid,         ///< blocks.{l}.hook_resid_mid
  kMlpPre,           ///< blocks.{l}.mlp.hook_pre: the gate (plain: up), before the activation
  kMlpPreLinear,     ///< blocks.{l}.mlp.hook_pre_linear: the up projection
  kMlpPost,          ///< blocks.{l}.mlp.hook_post: activation(gate) * up
  kMlpOut,           ///< blocks.{l}.hook_mlp_out
  kResidPost,        ///< blocks.{l}.hook_resid_post: before any final norm; `hidden`
  kDepthWeights,     ///< blocks.{l}.hook_depth_weights: see below; read only
  kFinalNormalized,  ///< ln_final.hook_normalized: before weight and bias
  kLogitLens,        ///< blocks.{l}.hook_logit_lens: computed of resid_post by a capture, no hook
};
/// Kinds that a forward pass computes: all but kLogitLens.
inline constexpr int kNumHookKinds = 23;

/// Location in the model where an activation can be read or replaced.
struct HookPoint {
  HookKind kind = HookKind::kResidPost;
  int layer = 0;  ///< from 0; 0 for the kinds outside the blocks

  auto operator<=>(const HookPoint&) const = default;
};

/// Returns true if the kind occurs once per layer: all but hook_embed and ln_final.hook_normalized.
bool is_per_layer(HookKind kind);

/// Returns the name of a point, e.g. "blocks.3.attn.hook_v".
std::string hook_name(const HookPoint& point);

/// Short name for one kind of point in every layer, for `--sites` and groups of capture files.
struct HookSite {
  std::string_view name;  ///< "values", "routed_values" or "hidden"
  HookKind kind;
};
/// Returns the sites values (attn.hook_v), routed_values (attn.hook_routed_v), hidden (resid_post).
std::span<const HookSite> hook_sites();

}  // namespace lime

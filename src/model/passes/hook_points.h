// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/enum_rows.h"

namespace lime {

struct ModelConfig;

/// Kinds of activation, in the order in which a forward pass computes them. The names are
/// TransformerLens's; routed_k, routed_v, value_result and profile are ours. Shapes:
///
///   embed, resid_*, attn_out, mlp_out, final_normalized   [batch, seq, hidden]
///   q, rot_q, z                                           [batch, seq, num_heads, head_dim]
///   k, v, routed_k, routed_v, rot_k                       [batch, seq, kv_heads, head_dim]
///   route                                                 [batch, seq, kv_heads, sources]
///   depth_weights, also of attn, mlp and final            [batch, seq, reads, sources]
///   attn_scores, pattern                                  [batch, num_heads, queries, keys]
///   profile                                               [batch, seq, num_heads, 6]
///   result, value_result                                  [batch, seq, num_heads, hidden]
///   pre (gate), pre_linear (up), post                     [batch, seq, intermediate]
///   streams                                               [batch, seq, streams, hidden]
///   stream_weights                                        [batch, seq, 2 * streams, streams + 2]
///   router_logits                                         [batch, seq, experts]
///   expert_weights, expert_indices                        [batch, seq, experts per token]
///
/// route is KeyValueRouting::weights(); without a routing a head reads its own layer. If it is
/// replaced, the layer mixes its keys and values with the new weights; keys of LIMe only.
///
/// depth_weights are the coefficients of the sources (the embedding, then the outputs of attention
/// and MLP per layer, num_depth_sources()) in what the layer reads of the residual stream
/// (depth_reads()): exact, because streams mix linearly. They are replaced by part: attention's
/// reads, the MLP's and that of the final norm. The part then reads the sum with the new weights;
/// the stream itself stays as it is. The weights of the whole layer are read only.
///
/// Only Hyper-Connections and mHC have the streams, after the block, and their weights: of
/// attention and MLP, for each stream the weight with which the part reads it, that of the part's
/// output in it, and those of all streams in the new one. The weights are read only.
///
/// result is what each head adds to the residual stream, z through its part of W_O; value_result is
/// what each token offers to a head, its value (routed_v) through the same. Their sums over heads
/// precede the bias, the norm after attention and the residual multiplier. Both are read only.
///
/// attn_out and mlp_out are what is added to the residual stream: after the norms that follow
/// attention and MLP (OLMo 2, Gemma 2) and the residual multiplier (Granite). A post-LN precedes
/// resid_mid and resid_post. If the MLP runs beside attention (GPT-NeoX), resid_mid, which
/// TransformerLens lacks, is resid_pre + attn_out. A plain MLP has no pre_linear.
///
/// Mixtures of experts have the last three in place of pre, pre_linear and post. Selection and
/// weights follow from the logits, also from replaced ones; experts are in the order of descending
/// logits, and one with a logit of -inf is not selected. expert_indices are whole numbers in
/// float32 (float64 if the pass is), exact.
enum class HookKind : std::uint8_t {
  kEmbed,             ///< token embedding, scaled; before learned positions
  kResidPre,          ///< input of the block
  kAttnDepthWeights,  ///< of what attention reads
  kQ,                 ///< output of W_Q, before norm and rotation
  kK,                 ///< output of W_K, before router, norm and rotation
  kV,                 ///< output of W_V, before the router; `values`
  kRoute,             ///< weights of the layers in k and v
  kRoutedK,           ///< mixed by the router; LLaMA: equals k
  kRoutedV,           ///< what attention reads; `routed_values`
  kRotQ,
  kRotK,
  kAttnScores,   ///< scaled and masked, before softmax
  kPattern,      ///< after softmax
  kAttnProfile,  ///< measures of the pattern, read only
  kZ,            ///< before W_O
  kValueResult,  ///< routed_v through W_O, per query head; read only
  kResult,       ///< z through W_O, per head; read only
  kAttnOut,
  kResidMid,
  kMlpDepthWeights,  ///< of what the MLP reads
  kRouterLogits,     ///< of a mixture of experts, before softmax and selection
  kExpertIndices,    ///< numbers of the selected experts, from 0; read only
  kExpertWeights,    ///< of the selected experts in their sum
  kMlpPre,           ///< the gate (plain: up), before the activation
  kMlpPreLinear,     ///< the up projection
  kMlpPost,          ///< activation(gate) * up
  kMlpOut,
  kStreams,            ///< see above
  kResidPost,          ///< before any final norm; `hidden`
  kDepthWeights,       ///< see above; read only
  kStreamWeights,      ///< likewise
  kFinalDepthWeights,  ///< of what the final norm reads
  kFinalNormalized,    ///< before weight and bias
  kLogitLens,          ///< computed of resid_post by a capture, no hook
};

/// What hooks may do with a kind of activation.
enum class HookUse {
  kReadAndReplace,
  kReadOnly,       ///< a function of other activations, which a replacement would contradict
  kComputedLater,  ///< no activation of a pass: a capture computes it
};

/// Describes a kind of activation.
struct HookKindInfo {
  HookKind kind;
  std::string_view name;  ///< `{}` stands for the layer; other kinds occur once per model
  HookUse use = HookUse::kReadAndReplace;
};

/// One row per kind, in the order of HookKind.
inline constexpr auto kHookKinds = std::to_array<HookKindInfo>({
    {HookKind::kEmbed, "hook_embed"},
    {HookKind::kResidPre, "blocks.{}.hook_resid_pre"},
    {HookKind::kAttnDepthWeights, "blocks.{}.attn.hook_depth_weights"},
    {HookKind::kQ, "blocks.{}.attn.hook_q"},
    {HookKind::kK, "blocks.{}.attn.hook_k"},
    {HookKind::kV, "blocks.{}.attn.hook_v"},
    {HookKind::kRoute, "blocks.{}.attn.hook_route"},
    {HookKind::kRoutedK, "blocks.{}.attn.hook_routed_k"},
    {HookKind::kRoutedV, "blocks.{}.attn.hook_routed_v"},
    {HookKind::kRotQ, "blocks.{}.attn.hook_rot_q"},
    {HookKind::kRotK, "blocks.{}.attn.hook_rot_k"},
    {HookKind::kAttnScores, "blocks.{}.attn.hook_attn_scores"},
    {HookKind::kPattern, "blocks.{}.attn.hook_pattern"},
    {HookKind::kAttnProfile, "blocks.{}.attn.hook_profile", HookUse::kReadOnly},
    {HookKind::kZ, "blocks.{}.attn.hook_z"},
    {HookKind::kValueResult, "blocks.{}.attn.hook_value_result", HookUse::kReadOnly},
    {HookKind::kResult, "blocks.{}.attn.hook_result", HookUse::kReadOnly},
    {HookKind::kAttnOut, "blocks.{}.hook_attn_out"},
    {HookKind::kResidMid, "blocks.{}.hook_resid_mid"},
    {HookKind::kMlpDepthWeights, "blocks.{}.mlp.hook_depth_weights"},
    {HookKind::kRouterLogits, "blocks.{}.mlp.hook_router_logits"},
    {HookKind::kExpertIndices, "blocks.{}.mlp.hook_expert_indices", HookUse::kReadOnly},
    {HookKind::kExpertWeights, "blocks.{}.mlp.hook_expert_weights"},
    {HookKind::kMlpPre, "blocks.{}.mlp.hook_pre"},
    {HookKind::kMlpPreLinear, "blocks.{}.mlp.hook_pre_linear"},
    {HookKind::kMlpPost, "blocks.{}.mlp.hook_post"},
    {HookKind::kMlpOut, "blocks.{}.hook_mlp_out"},
    {HookKind::kStreams, "blocks.{}.hook_streams"},
    {HookKind::kResidPost, "blocks.{}.hook_resid_post"},
    {HookKind::kDepthWeights, "blocks.{}.hook_depth_weights", HookUse::kReadOnly},
    {HookKind::kStreamWeights, "blocks.{}.hook_stream_weights", HookUse::kReadOnly},
    {HookKind::kFinalDepthWeights, "ln_final.hook_depth_weights"},
    {HookKind::kFinalNormalized, "ln_final.hook_normalized"},
    {HookKind::kLogitLens, "blocks.{}.hook_logit_lens", HookUse::kComputedLater},
});

static_assert(has_row_per_enumerator(kHookKinds, &HookKindInfo::kind, HookKind::kLogitLens));

/// Kinds that a forward pass computes.
inline constexpr int kNumHookKinds = static_cast<int>(std::ranges::count_if(
    kHookKinds, [](const HookKindInfo& info) { return info.use != HookUse::kComputedLater; }));

static_assert(kNumHookKinds <= 64, "HookSet has a bit per kind");

constexpr const HookKindInfo& hook_kind_info(HookKind kind) {
  return kHookKinds[static_cast<std::size_t>(kind)];
}

/// Location in the model where an activation can be read or replaced.
struct HookPoint {
  HookKind kind = HookKind::kResidPost;
  int layer = 0;  ///< from 0; 0 for the kinds outside the blocks

  auto operator<=>(const HookPoint&) const = default;
};

/// Returns true if the kind occurs once per layer, false if once per model.
constexpr bool is_per_layer(HookKind kind) {
  return hook_kind_info(kind).name.find("{}") != std::string_view::npos;
}

/// Returns true for the weights over depth of one part, which kDepthWeights contains.
constexpr bool is_part_of_depth_weights(HookKind kind) {
  return kind == HookKind::kAttnDepthWeights || kind == HookKind::kMlpDepthWeights ||
         kind == HookKind::kFinalDepthWeights;
}

/// Returns true if a pass of the model reaches the point: a plain MLP has no pre_linear, a mixture
/// of experts has a router in its place, only Hyper-Connections have streams.
bool has_hook(const ModelConfig& config, const HookPoint& point);

/// Returns the name of a point, e.g. "blocks.3.attn.hook_v".
std::string hook_name(const HookPoint& point);

/// Returns the number of the random stream of a point, the same whatever other points there are.
constexpr std::uint64_t random_stream(const HookPoint& point) {
  constexpr std::uint64_t kPrime = 0x100000001b3;  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : hook_kind_info(point.kind).name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  }
  return (hash ^ static_cast<std::uint64_t>(point.layer)) * kPrime;
}

/// Short name for one kind of point in every layer, for `--sites` and groups of capture files.
struct HookSite {
  std::string_view name;  ///< "values", "routed_values" or "hidden"
  HookKind kind;
};
/// Returns the sites values (attn.hook_v), routed_values (attn.hook_routed_v), hidden (resid_post).
std::span<const HookSite> hook_sites();

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/options.h"

namespace lime {

/// Selects what connects a layer with layers other than the one before it. Every routing composes
/// with the blocks of every family, except for those that validate() rejects.
enum class DepthRouting {
  kNone,
  kLime,
  kDenseFormer,
  kHyperConnections,
  kResFormer,
  kAttentionResiduals,
  kManifoldHyperConnections,
  kDepthAttention,
  kMudd
};

constexpr auto names_of(DepthRouting) {
  using enum DepthRouting;
  return enum_table<DepthRouting>({{kNone, "none"},
                                   {kLime, "lime"},
                                   {kDenseFormer, "denseformer"},
                                   {kHyperConnections, "hyper_connections"},
                                   {kResFormer, "resformer"},
                                   {kAttentionResiduals, "attn_res"},
                                   {kManifoldHyperConnections, "mhc"},
                                   {kDepthAttention, "depth_attention"},
                                   {kMudd, "mudd"}});
}

/// Selects the layers whose keys and values a LIMe router of layer l reads; see router_sources().
enum class RouterKind {
  kFull,              ///< all layers up to l
  kAverage,           ///< all up to l, each head the mean of itself over the layers; no parameters
  kLast,              ///< the latest j, l included
  kFirst,             ///< the first j and l: the paper's reading for deep models
  kFirstAndPrevious,  ///< the first j and l - 1: the paper's other reading
  kDilated,           ///< l and every j-th before it
  kNone               ///< no router: a LLaMA
};

constexpr auto names_of(RouterKind) {
  using enum RouterKind;
  return enum_table<RouterKind>({{kFull, "full"},
                                 {kAverage, "average"},
                                 {kLast, "last"},
                                 {kFirst, "first"},
                                 {kFirstAndPrevious, "first-and-previous"},
                                 {kDilated, "dilated"},
                                 {kNone, "none"}});
}

/// Stores the object `lime` of config.json.
struct LimeConfig {
  RouterKind router = RouterKind::kFull;
  /// Number of layers (last, first) or step (dilated), in [1, layers]; else not used.
  std::int64_t j = 0;
  bool head_mixing = true;     ///< a routed head reads all buffered heads, not only its own
  bool per_dimension = false;  ///< one weight per dimension of a head instead of one per head
  bool dynamic = false;        ///< weights computed from the token
  /// Scale of a static router's random initialization; 0: every layer starts as in a LLaMA.
  double initializer_scale = 1.0;

  bool operator==(const LimeConfig&) const = default;
};

/// Object `denseformer` of config.json. Source: Pagliardini et al. (2024), arXiv:2402.02622.
struct DenseFormerConfig {
  std::int64_t dilation = 1;  ///< an average reads every dilation-th output; in [1, layers]
  std::int64_t period = 1;    ///< every period-th layer averages; in [1, layers]

  bool operator==(const DenseFormerConfig&) const = default;
};

/// Object `hyper_connections` of config.json. Source: Zhu et al. (2024), arXiv:2409.19606.
struct HyperConnectionsConfig {
  bool dynamic = true;    ///< weights depend on the token
  std::int64_t rate = 4;  ///< number of residual streams, in [1, 1024]

  bool operator==(const HyperConnectionsConfig&) const = default;
};

/// Selects what Attention Residuals attend to. Without num_blocks a block is one part of a layer.
enum class AttnResSources {
  kOutputs,  ///< the embedding, the sum of outputs of each block, the partial sum: the paper
  kOutputsFromEmbedding,  ///< the same, but the sum of the first block starts with the embedding
  kStates                 ///< the residual stream after each block
};

constexpr auto names_of(AttnResSources) {
  using enum AttnResSources;
  return enum_table<AttnResSources>({{kOutputs, "outputs"},
                                     {kOutputsFromEmbedding, "outputs-from-embedding"},
                                     {kStates, "states"}});
}

/// Stores the object `attn_res` of config.json. Source: Kimi Team (2026), arXiv:2603.15031; the
/// other sources and the bias: github.com/wdlctc/open-attention-residuals.
struct AttnResConfig {
  std::int64_t num_blocks = 0;  ///< a divisor of num_hidden_layers; 0: full Attention Residuals
  AttnResSources sources = AttnResSources::kOutputs;
  /// Initial value of a learned bias of the latest source; none: no bias.
  std::optional<double> recency_bias_init = std::nullopt;

  bool operator==(const AttnResConfig&) const = default;
};

/// Stores the object `mhc` of config.json (manifold-constrained Hyper-Connections), with the keys
/// of `deepseek_v4` in transformers. Source: Xie et al. (2025), arXiv:2512.24880.
struct MhcConfig {
  std::int64_t hc_mult = 4;             ///< number of residual streams, in [1, 16]
  std::int64_t hc_sinkhorn_iters = 20;  ///< in [1, 1000]
  double hc_eps = 1e-6;                 ///< >= 0

  bool operator==(const MhcConfig&) const = default;
};

/// Object `depth_attention` of config.json. Source: Zeng et al. (2026), arXiv:2606.05014.
struct DepthAttentionConfig {
  /// Layers 0, stride, 2 stride ... are read by the later ones; in [0, layers]. 0: half the layers.
  std::int64_t stride = 0;
  std::int64_t recent_window = 0;  ///< so many preceding layers are read, too; in [0, layers]

  bool operator==(const DepthAttentionConfig&) const = default;
};

/// Stores the object `mudd` of config.json. Source: Xiao et al. (2025), arXiv:2502.12170.
struct MuddConfig {
  bool round64 = true;  ///< the generators' hidden size is the next multiple of 64, as released

  bool operator==(const MuddConfig&) const = default;
};

}  // namespace lime

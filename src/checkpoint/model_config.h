// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/decoder_spec.h"
#include "core/json.h"
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
  return names_in_order<DepthRouting>("none", "lime", "denseformer", "hyper_connections",
                                      "resformer", "attn_res", "mhc", "depth_attention", "mudd");
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
  return names_in_order<RouterKind>("full", "average", "last", "first", "first-and-previous",
                                    "dilated", "none");
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
  return names_in_order<AttnResSources>("outputs", "outputs-from-embedding", "states");
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

/// Stores the configuration of a decoder from config.json, under Hugging Face's key names.
///
/// The defaults here are not a valid decoder; parse_model_config() fills in the defaults of
/// transformers for each `model_type`.
struct ModelConfig {
  /// Family of the blocks by its `model_type` in transformers, e.g. "llama"; see DecoderSpec.
  std::string family = "llama";
  DecoderSpec spec;
  DepthRouting routing = DepthRouting::kNone;

  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;  ///< divides num_attention_heads
  std::int64_t head_dim = 0;             ///< hidden_size / num_attention_heads if not given
  std::int64_t max_position_embeddings = 2048;
  bool tie_word_embeddings = false;
  /// False for a base model, whose tensors lack the output projection: it has no logits.
  bool has_head = true;
  std::optional<std::int64_t> bos_token_id = std::nullopt;
  std::vector<std::int64_t> eos_token_ids;  ///< one id or a list in the file; may be empty
  /// Standard deviation of the matrices before training; transformers' default.
  double initializer_range = 0.02;
  std::string torch_dtype;  ///< `torch_dtype` or `dtype` of the file, e.g. "bfloat16"; or empty
  LimeConfig lime;          ///< read for DepthRouting::kLime only, as the following for theirs
  DenseFormerConfig denseformer;
  HyperConnectionsConfig hyper_connections;
  /// `first_layer_only` of the object `resformer`: every layer reads the values of layer 0 and has
  /// none of its own (SVFormer). Source: Zhou et al. (2024), arXiv:2410.17897.
  bool first_layer_values_only = false;
  AttnResConfig attn_res;
  MhcConfig mhc;
  DepthAttentionConfig depth_attention;
  MuddConfig mudd;
  Json raw;  ///< the file as it was read, for provenance; null if not from a file
  std::vector<std::string> warnings;  ///< of the reader, one line each

  /// Returns the name of the decoder: the family, the routing, or both ("qwen3 + lime").
  std::string name() const;

  /// Returns the width of the MLP of a layer, or of one of its experts.
  std::int64_t mlp_width(std::int64_t layer) const {
    if (const ExpertsSpec* const experts = spec.experts_of(layer)) {
      return experts->intermediate_size;
    }
    return spec.layer(layer).intermediate_size.value_or(intermediate_size);
  }

  /// Returns the largest number of tokens in a sequence: that of learned positions, else unlimited.
  /// Rotary embeddings are defined at every position, beyond max_position_embeddings too, where
  /// that of `dynamic` begins to scale.
  std::int64_t max_length() const {
    return spec.learned_position_offset ? max_position_embeddings
                                        : std::numeric_limits<std::int64_t>::max();
  }

  /// Returns the number of leading dimensions of a head that rotate; 0 without rotary embeddings.
  std::int64_t rotary_dim() const;

  /// Checks that sizes are positive, heads divide, and all features are supported.
  /// @throws FormatError  that begins with `where` and names the first key at fault.
  void validate(std::string_view where) const;

  /// Checks that the model has logits.
  /// @throws InvalidArgument  that begins with `where` and names the missing tensor.
  void require_head(std::string_view where) const;

  /// Compares everything but `raw` and `warnings`.
  bool operator==(const ModelConfig& other) const;
};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/options.h"

namespace lime {

/// Lists the supported decoders by `model_type` of config.json.
enum class DecoderKind {
  kLlama,
  kMistral,
  kQwen2,
  kLime,
  kDenseFormer,
  kHyperConnections,
  kResFormer
};

template <>
struct EnumNames<DecoderKind> {
  static constexpr std::array<std::pair<DecoderKind, std::string_view>, 7> kNames = {{
      {DecoderKind::kLlama, "llama"},
      {DecoderKind::kMistral, "mistral"},
      {DecoderKind::kQwen2, "qwen2"},
      {DecoderKind::kLime, "lime"},
      {DecoderKind::kDenseFormer, "denseformer"},
      {DecoderKind::kHyperConnections, "hyper_connections"},
      {DecoderKind::kResFormer, "resformer"},
  }};
};

/// Selects how the rotary frequencies are scaled beyond the pre-training context.
enum class RopeScalingKind { kNone, kLinear, kLlama3 };

template <>
struct EnumNames<RopeScalingKind> {
  static constexpr std::array<std::pair<RopeScalingKind, std::string_view>, 3> kNames = {{
      {RopeScalingKind::kNone, "none"},
      {RopeScalingKind::kLinear, "linear"},
      {RopeScalingKind::kLlama3, "llama3"},
  }};
};

/// Stores the rotary scaling with the keys and the meaning of `rope_scaling` in transformers.
///
/// linear: every inverse frequency f becomes f / factor.
/// llama3: with the wavelength w = 2 pi / f and the context c = original_max_position_embeddings,
///   f where w < c / high_freq_factor, f / factor where w > c / low_freq_factor, between them
///   (1 - s) f / factor + s f with s = (c / w - low_freq_factor) / (high_freq_factor -
///   low_freq_factor). Source: modeling_rope_utils.py of transformers.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  double factor = 1.0;           ///< > 0; linear and llama3
  double low_freq_factor = 1.0;  ///< > 0; llama3 only, as are the following
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 0;
};

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

template <>
struct EnumNames<RouterKind> {
  static constexpr std::array<std::pair<RouterKind, std::string_view>, 7> kNames = {{
      {RouterKind::kFull, "full"},
      {RouterKind::kAverage, "average"},
      {RouterKind::kLast, "last"},
      {RouterKind::kFirst, "first"},
      {RouterKind::kFirstAndPrevious, "first-and-previous"},
      {RouterKind::kDilated, "dilated"},
      {RouterKind::kNone, "none"},
  }};
};

/// Stores the object `lime` of config.json.
struct LimeConfig {
  RouterKind router = RouterKind::kFull;
  /// Number of layers (last, first) or step (dilated), in [1, layers]; else not used.
  std::int64_t j = 0;
  bool head_mixing = true;     ///< a routed head reads all buffered heads, not only its own
  bool per_dimension = false;  ///< one weight per dimension of a head instead of one per head
  bool dynamic = false;        ///< weights computed from the token
  /// Scale of the random initialization of a static router relative to the paper, see
  /// initialize_router(); 0: every layer starts as in a LLaMA.
  double initializer_scale = 1.0;
};

/// Stores the object `denseformer` of config.json. Source: Pagliardini et al. (2024),
/// arXiv:2402.02622.
struct DenseFormerConfig {
  std::int64_t dilation = 1;  ///< an average reads every dilation-th output; in [1, layers]
  std::int64_t period = 1;    ///< every period-th layer averages; in [1, layers]
};

/// Stores the object `hyper_connections` of config.json. Source: Zhu et al. (2024),
/// arXiv:2409.19606.
struct HyperConnectionsConfig {
  bool dynamic = true;    ///< weights depend on the token
  std::int64_t rate = 4;  ///< number of residual streams, in [1, 1024]
};

/// Stores the configuration of a decoder from config.json, under Hugging Face's key names.
///
/// The defaults here are not a valid decoder; parse_model_config() fills in the defaults of
/// transformers for each `model_type`.
struct ModelConfig {
  DecoderKind decoder = DecoderKind::kLlama;

  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;  ///< divides num_attention_heads
  std::int64_t head_dim = 0;             ///< even; hidden_size / num_attention_heads if not given
  std::int64_t max_position_embeddings = 2048;
  std::string hidden_act = "silu";  ///< always "silu" ("swish" is read as it)
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;  ///< `attention_bias`; qwen2: always; mistral: never
  bool o_bias = false;    ///< `attention_bias`; qwen2, mistral: never
  bool mlp_bias = false;  ///< not of qwen2 and mistral
  /// Number of latest positions, itself included, that a token of a sliding layer attends to.
  /// mistral: every layer, or those of sliding_layers; qwen2: only with `use_sliding_window`, those
  /// of sliding_layers.
  std::optional<std::int64_t> sliding_window = std::nullopt;
  /// One flag per layer, from `layer_types`, or `max_window_layers` of qwen2; empty: all layers.
  std::vector<bool> sliding_layers;
  std::optional<std::int64_t> bos_token_id = std::nullopt;
  std::vector<std::int64_t> eos_token_ids;  ///< one id or a list in the file; may be empty
  /// Standard deviation of the matrices before training; transformers' default.
  double initializer_range = 0.02;
  std::string
      torch_dtype;  ///< "float32", "bfloat16", ... as the file says (also `dtype`), or empty
  LimeConfig lime;  ///< read for DecoderKind::kLime only, as the next three for theirs
  DenseFormerConfig denseformer;
  HyperConnectionsConfig hyper_connections;
  /// `first_layer_only` of the object `resformer`: every layer reads the values of layer 0 and has
  /// none of its own (SVFormer). Source: Zhou et al. (2024), arXiv:2410.17897.
  bool first_layer_values_only = false;
  Json raw;  ///< the file as it was read, for provenance; null if not from a file

  /// Returns the window of layer `layer` (from 0), or nothing if it attends to all earlier
  /// positions.
  std::optional<std::int64_t> window_of_layer(std::int64_t layer) const;

  /// Checks that sizes are positive, heads divide, and all features are supported.
  /// @param where  named first in the error, e.g. the path of config.json.
  /// @throws FormatError  that names the first key at fault.
  void validate(std::string_view where) const;
};

/// Reads a configuration as transformers 4 and 5 write it: `rope_scaling` with `type` or
/// `rope_type`, or `rope_parameters`; `torch_dtype` or `dtype`; null for "not given".
/// @param where  named first in errors, e.g. `'models/a/config.json'`.
/// @throws FormatError  if a key is missing, of the wrong type, out of range, or asks for what
///                      this build has not (unknown decoder, activation or rope kind).
ModelConfig parse_model_config(const Json& json, std::string_view where);

/// Reads the config.json that find_checkpoint() finds; `path` may also name the file itself.
/// An official LIMe folder says `llama` here; only Checkpoint::open(), which looks at the tensors,
/// can tell.
/// @throws IoError      as find_checkpoint().
/// @throws FormatError  as find_checkpoint() and parse_model_config().
ModelConfig read_model_config(const std::filesystem::path& path);

/// The configuration as config.json for transformers; parse_model_config() reads it back equal.
/// @throws FormatError  as validate().
Json model_config_to_json(const ModelConfig& config);

}  // namespace lime

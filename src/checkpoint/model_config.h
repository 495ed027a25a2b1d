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

/// The decoders that this build knows, by `model_type` of config.json.
enum class DecoderKind { kLlama, kMistral, kQwen2, kLime };

template <>
struct EnumNames<DecoderKind> {
  static constexpr std::array<std::pair<DecoderKind, std::string_view>, 4> kNames = {{
      {DecoderKind::kLlama, "llama"},
      {DecoderKind::kMistral, "mistral"},
      {DecoderKind::kQwen2, "qwen2"},
      {DecoderKind::kLime, "lime"},
  }};
};

/// How the rotary frequencies are stretched beyond the context of pre-training.
enum class RopeScalingKind { kNone, kLinear, kLlama3 };

template <>
struct EnumNames<RopeScalingKind> {
  static constexpr std::array<std::pair<RopeScalingKind, std::string_view>, 3> kNames = {{
      {RopeScalingKind::kNone, "none"},
      {RopeScalingKind::kLinear, "linear"},
      {RopeScalingKind::kLlama3, "llama3"},
  }};
};

/// Rotary scaling, with the keys and the meaning of `rope_scaling` in transformers.
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

/// Which earlier layers a LIMe router reads.
enum class RouterKind { kFull, kAverage, kLast, kFirst, kDilated, kNone };

template <>
struct EnumNames<RouterKind> {
  static constexpr std::array<std::pair<RouterKind, std::string_view>, 6> kNames = {{
      {RouterKind::kFull, "full"},
      {RouterKind::kAverage, "average"},
      {RouterKind::kLast, "last"},
      {RouterKind::kFirst, "first"},
      {RouterKind::kDilated, "dilated"},
      {RouterKind::kNone, "none"},
  }};
};

/// The object `lime` of config.json.
struct LimeConfig {
  RouterKind router = RouterKind::kFull;
  std::int64_t j = 0;          ///< number of layers (last, first) or step (dilated); 0: not used
  bool head_mixing = true;     ///< a routed head reads all buffered heads, not only its own
  bool per_dimension = false;  ///< one weight per dimension of a head instead of one per head
  bool dynamic = false;        ///< weights computed from the token
};

/// What config.json says of a decoder, under Hugging Face's key names.
///
/// The defaults here are no decoder; parse_model_config() fills in the defaults that transformers
/// has for each `model_type`.
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
  bool qkv_bias = false;  ///< llama, lime: `attention_bias`; qwen2: always
  bool o_bias = false;    ///< llama, lime: `attention_bias`; qwen2: never
  bool mlp_bias = false;  ///< llama, lime
  /// Number of latest positions, itself included, that a token of a sliding layer attends to.
  /// mistral: every layer; qwen2: only with `use_sliding_window`, the layers of sliding_layers.
  std::optional<std::int64_t> sliding_window = std::nullopt;
  /// qwen2: one flag per layer, from `layer_types` or `max_window_layers`; empty: all layers.
  std::vector<bool> sliding_layers;
  std::optional<std::int64_t> bos_token_id = std::nullopt;
  std::vector<std::int64_t> eos_token_ids;  ///< one id or a list in the file; may be empty
  std::string
      torch_dtype;  ///< "float32", "bfloat16", ... as the file says (also `dtype`), or empty
  LimeConfig lime;  ///< read for DecoderKind::kLime only
  Json raw;         ///< the file as it was read, for provenance; null if not from a file

  /// The window of layer `layer` (from 0), or nothing where it attends to all earlier positions.
  std::optional<std::int64_t> window_of_layer(std::int64_t layer) const;

  /// Checks that sizes are positive, heads divide, and the features are ones this build has.
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

/// Reads `config.json` of a checkpoint folder; `path` may also name the file itself.
/// An official LIMe folder says `llama` here; only Checkpoint::open(), which looks at the tensors,
/// can tell.
/// @throws IoError      if the folder or the file is missing.
/// @throws FormatError  as parse_model_config().
ModelConfig read_model_config(const std::filesystem::path& path);

/// The configuration as config.json for transformers; parse_model_config() reads it back equal.
/// @throws FormatError  as validate().
Json model_config_to_json(const ModelConfig& config);

}  // namespace lime

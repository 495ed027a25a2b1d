// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/exaone.h"

#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// Keys of LG's own code, in the files of EXAONE 3.
constexpr KeyAlias kAliases[] = {{"num_layers", "num_hidden_layers"},
                                 {"layer_norm_epsilon", "rms_norm_eps"},
                                 {"activation_function", "hidden_act"}};

void read_exaone(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.ropes = {read_whole_rope(keys, config, 500000.0)};
  read_attention_bias(keys, config);
  spec.mlp_bias = keys.boolean("mlp_bias", false);
  spec.names = {
      .prefix = "transformer.",
      .layers = "h",
      .embedding = "wte",
      .input_norm = "ln_1",
      .mlp_norm = "ln_2",
      .q = "attn.attention.q_proj",
      .k = "attn.attention.k_proj",
      .v = "attn.attention.v_proj",
      .o = "attn.attention.out_proj",
      .gate = "mlp.c_fc_0",
      .up = "mlp.c_fc_1",
      .down = "mlp.c_proj",
      .final_norm = "ln_f",
  };
}

constexpr std::int64_t kUsualPattern = 4;

/// Returns the period of layers without a window; 0 if the file gives none as a number.
std::int64_t read_pattern(const KeyReader& keys) {
  const Json* const pattern = keys.find("sliding_window_pattern");
  if (pattern == nullptr || pattern->is_string()) return 0;
  return keys.integer("sliding_window_pattern").value_or(0);
}

/// Without `sliding_window`, every layer rotates, else only those that have it.
void read_exaone4(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.norm_placement = NormPlacement::kAfter;
  spec.qk_norm = QkNorm::kPerHead;
  spec.ropes = {read_whole_rope(keys, config)};
  const auto window = read_window(keys);
  auto slides = read_layer_types(keys, config.num_hidden_layers, window.has_value());
  const std::int64_t pattern =
      keys.contains("sliding_window_pattern") ? read_pattern(keys) : kUsualPattern;
  if (!slides && window) {
    if (pattern < 1) {
      keys.fail("layer_types", "given if sliding_window_pattern is not a number of layers",
                nullptr);
    }
    slides = all_but_every(pattern, config.num_hidden_layers);
  }
  if (!window) return;
  set_windows(config, *slides, *window);
  for (LayerSpec& layer : spec.layers) {
    if (!layer.window) layer.rope = std::nullopt;
  }
}

}  // namespace

const Family kExaone = {.model_type = "exaone",
                        .architecture = "LlamaForCausalLM",
                        .aliases = kAliases,
                        .num_key_value_heads = 8,
                        .max_position_embeddings = 4096,
                        .read = read_exaone};

const Family kExaone4 = {.model_type = "exaone4",
                         .architecture = "Exaone4ForCausalLM",
                         .num_key_value_heads = 32,
                         .read = read_exaone4};

}  // namespace lime

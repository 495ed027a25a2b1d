// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/mudd.h"

#include <cmath>

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

/// Refuses what the released models do not use, and reads settings of kernels.
void require_released_variant(const KeyReader& keys) {
  const std::string type = keys.text("dense_type").value_or("qkvr");
  if (type != "qkvr") keys.fail("dense_type", "qkvr, as in the released models", type);
  for (const std::string_view key : {"dense", "dynamic_dense", "sepln", "expand_last"}) {
    if (keys.boolean(key, key != "expand_last")) continue;
    keys.fail(key, "true, as in the released models", false);
  }
  for (const std::string_view key : {"head_dim", "is_training", "stack_hidden",
                                     "use_gradient_checkpointing", "use_layer_cache"}) {
    keys.find(key);
  }
}

/// Sets what both models have in common. The MLPs grow linearly with depth, from a half to three
/// halves of intermediate_size, in multiples of 128 (rounded to even, as in Python).
void read_mudd_blocks(const KeyReader& keys, ModelConfig& config) {
  require_released_variant(keys);
  config.routing = DepthRouting::kMudd;
  config.mudd.round64 = keys.boolean("round64", false);
  DecoderSpec& spec = config.spec;
  if (keys.boolean("use_qk_norm", false)) spec.qk_norm = QkNorm::kPerHead;
  spec.names = {
      .prefix = "",
      .embedding = "tok_embeddings",
      .input_norm = "attention_norm",
      .split_input_norms = {"attention_norms.0", "attention_norms.1", "attention_norms.2"},
      .mlp_norm = "ffn_norm",
      .q = "attention.wq",
      .k = "attention.wk",
      .v = "attention.wv",
      .q_norm = "attention.q_norm",
      .k_norm = "attention.k_norm",
      .o = "attention.wo",
      .gate = "feed_forward.w1",
      .up = "feed_forward.w3",
      .down = "feed_forward.w2",
      .output = "output",
  };
  const std::int64_t count = config.num_hidden_layers;
  if (count < 2) keys.fail("n_layer", "at least 2", count);
  spec.layers.assign(static_cast<std::size_t>(count), spec.layers.front());
  for (std::int64_t i = 0; i < count; ++i) {
    const double scale = static_cast<double>(i) / static_cast<double>(count - 1) + 0.5;
    const double blocks = static_cast<double>(config.intermediate_size) * scale / 128.0;
    spec.layers[i].intermediate_size = 128 * static_cast<std::int64_t>(std::nearbyint(blocks));
  }
}

void read_muddformer(const KeyReader& keys, ModelConfig& config) {
  read_mudd_blocks(keys, config);
  config.spec.norm.eps = read_norm_eps(keys, "norm_eps", 1e-6);
  config.spec.ropes = {read_rope(keys, config, {.theta_key = "rope_base"})};
}

void read_muddpythia(const KeyReader& keys, ModelConfig& config) {
  read_mudd_blocks(keys, config);
  DecoderSpec& spec = config.spec;
  const double eps = read_norm_eps(keys, "norm_eps", 1e-5);
  spec.norm = {.kind = NormKind::kLayerNorm, .has_bias = true, .eps = eps};
  spec.head_norm = NormSpec{.eps = eps};
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.activation = Activation::kGelu;
  spec.mlp_bias = keys.boolean("use_linear_bias", true);
  spec.parallel_residual = keys.boolean("use_parallel_residual", true);
  spec.names.up = "feed_forward.w1";
  spec.ropes = {read_rope(keys, config, {.theta_key = "rope_base", .may_be_partial = true})};
  set_rotary_dim(keys, "rotary_pct", 0.25, config);
}

constexpr SizeKeys kKeys = {.hidden_size = "dim",
                            .num_hidden_layers = "n_layer",
                            .num_attention_heads = "n_head",
                            .num_key_value_heads = "n_local_heads",
                            .head_dim = nullptr,
                            .max_position_embeddings = "block_size",
                            .activation = nullptr};

}  // namespace

const Family kMuddFormer = {.model_type = "muddformer",
                            .architecture = "MUDDFormer",
                            .keys = kKeys,
                            .is_for_new_models = false,
                            .read = read_muddformer};

const Family kMuddPythia = {.model_type = "muddpythia",
                            .architecture = "MUDDPythia",
                            .keys = kKeys,
                            .is_for_new_models = false,
                            .read = read_muddpythia};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gptj.h"

#include <algorithm>

#include "checkpoint/families/gpt2.h"

namespace lime {
namespace {

/// Dimensions that rotate if the file is silent; of smaller heads all of them.
constexpr std::int64_t kUsualRotation = 64;

void read_rotation(const KeyReader& keys, ModelConfig& config) {
  constexpr const char* kKey = "rotary_dim";
  const std::int64_t all = config.head_dim;
  const std::int64_t rotated = keys.integer(kKey).value_or(std::min(kUsualRotation, all));
  if (rotated < 2 || rotated % 2 != 0 || rotated > all) {
    keys.fail(kKey, fmt::format("an even number from 2 to the {} dimensions of a head", all),
              rotated);
  }
  config.spec.rotary_dim = rotated == all ? 0 : rotated;
  config.spec.interleaved_rotation = true;
}

void read_gptj(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_epsilon");
  read_rotation(keys, config);
  spec.parallel_residual = true;
  spec.shares_input_norm = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  spec.output_bias = true;
  spec.names = {
      .prefix = "transformer.",
      .layers = "h",
      .embedding = "wte",
      .input_norm = "ln_1",
      .q = "attn.q_proj",
      .k = "attn.k_proj",
      .v = "attn.v_proj",
      .qkv = "attn.qkv_proj",
      .o = "attn.out_proj",
      .up = "mlp.fc_in",
      .down = "mlp.fc_out",
      .final_norm = "ln_f",
      .ignored = {"attn.bias", "attn.masked_bias", "attn.causal_mask", "attn.embed_positions"},
  };
}

void write_gptj(const ModelConfig& config, Json& json) {
  json["layer_norm_epsilon"] = config.spec.norm.eps;
  json["rotary_dim"] = config.rotary_dim();
}

void read_codegen(const KeyReader& keys, ModelConfig& config) {
  read_gptj(keys, config);
  config.spec.qkv_layout = QkvLayout::kFourShards;
}

}  // namespace

const Family kGptJ = {.model_type = "gptj",
                      .architecture = "GPTJForCausalLM",
                      .keys = kGpt2Keys,
                      .inner_per_hidden = 4,
                      .activation = "gelu_new",
                      .read = read_gptj,
                      .write = write_gptj};

const Family kCodeGen = {.model_type = "codegen",
                         .architecture = "CodeGenForCausalLM",
                         .keys = kGpt2Keys,
                         .inner_per_hidden = 4,
                         .activation = "gelu_new",
                         .read = read_codegen,
                         .write = write_gptj};

}  // namespace lime

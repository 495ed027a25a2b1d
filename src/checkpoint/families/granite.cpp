// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/granite.h"

#include "checkpoint/families/experts.h"

namespace lime {
namespace {

void read_multipliers(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.embedding_multiplier = keys.positive("embedding_multiplier", 1.0);
  spec.residual_multiplier = keys.positive("residual_multiplier", 1.0);
  spec.logits_divisor = keys.positive("logits_scaling", 1.0);
  spec.layers.front().attention_scale = keys.positive("attention_multiplier", 1.0);
}

void read_granite(const KeyReader& keys, ModelConfig& config) {
  read_llama(keys, config);
  read_multipliers(keys, config);
}

void read_granite_moe(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  read_attention_bias(keys, config);
  read_multipliers(keys, config);
  config.spec.experts = read_experts(keys, config, {});
  config.spec.experts->layout = ExpertLayout::kPacked;
  TensorNames& names = config.spec.names;
  names.router = "block_sparse_moe.router.layer";
  names.experts = "block_sparse_moe.experts";
  names.packed_gate_up = "block_sparse_moe.input_linear.weight";
  names.packed_down = "block_sparse_moe.output_linear.weight";
  names.aliases = {
      {".block_sparse_moe.experts.gate_up_proj", ".block_sparse_moe.input_linear.weight"},
      {".block_sparse_moe.experts.down_proj", ".block_sparse_moe.output_linear.weight"},
      {".block_sparse_moe.router.weight", ".block_sparse_moe.router.layer.weight"}};
}

}  // namespace

const Family kGranite = {
    .model_type = "granite", .architecture = "GraniteForCausalLM", .read = read_granite};

const Family kGraniteMoe = {.model_type = "granitemoe",
                            .architecture = "GraniteMoeForCausalLM",
                            .aliases = kLocalExperts,
                            .num_experts_key = "num_local_experts",
                            .read = read_granite_moe};

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/mixtral.h"

#include "checkpoint/families/experts.h"
#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_mixtral(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.ropes = {read_whole_rope(keys, config, 1e6)};
  spec.layers.front().window = keys.integer("sliding_window");
  spec.experts = read_experts(keys, config, {});
  keys.find("router_jitter_noise");  // of training
  TensorNames& names = spec.names;
  names.router = "block_sparse_moe.gate";
  names.experts = "block_sparse_moe.experts";
  names.expert_gate = "w1";
  names.expert_up = "w3";
  names.expert_down = "w2";
  names.packed_gate_up = "block_sparse_moe.experts.gate_up_proj";
  names.packed_down = "block_sparse_moe.experts.down_proj";
  names.aliases = {{".mlp.", ".block_sparse_moe."}};
}

}  // namespace

const Family kMixtral = {.model_type = "mixtral",
                         .architecture = "MixtralForCausalLM",
                         .aliases = kLocalExperts,
                         .num_key_value_heads = 8,
                         .max_position_embeddings = 131072,
                         .num_experts_key = "num_local_experts",
                         .read = read_mixtral};

}  // namespace lime

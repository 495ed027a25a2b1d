// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/olmoe.h"

#include "checkpoint/families/experts.h"
#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_olmoe(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.ropes = {read_whole_rope(keys, config)};
  spec.qk_norm = QkNorm::kWholeProjection;
  spec.qkv_clip = keys.number("clip_qkv");
  spec.clips_after_norm = true;
  read_attention_bias(keys, config);
  spec.experts = read_experts(keys, config,
                              {.num_experts = 64, .num_experts_per_tok = 8, .aux_loss_coef = 0.01});
  spec.experts->normalizes_weights = keys.boolean("norm_topk_prob", false);
}

}  // namespace

const Family kOlmoe = {.model_type = "olmoe",
                       .architecture = "OlmoeForCausalLM",
                       .keys = {.head_dim = nullptr},
                       .aliases = kNumExperts,
                       .max_position_embeddings = 4096,
                       .num_experts_key = "num_experts",
                       .read = read_olmoe};

}  // namespace lime

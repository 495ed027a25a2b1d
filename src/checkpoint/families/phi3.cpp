// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/phi3.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_phi3(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  if (keys.boolean("attention_bias", false)) {
    keys.fail("attention_bias", "false, because the blocks of phi3 have no biases", true);
  }
  spec.qkv_layout = QkvLayout::kConcatenated;
  spec.fused_gate_up = true;
  spec.layers.front().window = keys.integer("sliding_window");
  const auto original = keys.integer("original_max_position_embeddings");
  spec.ropes = {read_rope(
      keys, config,
      {.may_be_partial = true, .original_max_position_embeddings = original.value_or(4096)})};
  const RopeKind kind = spec.ropes.front().kind;
  if (kind != RopeKind::kDefault && kind != RopeKind::kLongRope) {
    keys.fail("rope_type", "default or longrope", enum_name(kind));
  }
  set_rotary_dim(keys, "partial_rotary_factor", 1.0, config);
}

}  // namespace

const Family kPhi3 = {.model_type = "phi3",
                      .architecture = "Phi3ForCausalLM",
                      .max_position_embeddings = 4096,
                      .read = read_phi3};

}  // namespace lime

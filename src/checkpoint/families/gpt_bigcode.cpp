// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt_bigcode.h"

#include "checkpoint/families/gpt2.h"

namespace lime {
namespace {

void read_gpt_bigcode(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_epsilon");
  set_learned_positions(spec, 0);
  keys.find("num_key_value_heads");  // in files of transformers 5, follows from multi_query
  const bool has_one = keys.boolean("multi_query", true);
  if (has_one) config.num_key_value_heads = 1;
  spec.qkv_layout = has_one ? QkvLayout::kConcatenated : QkvLayout::kPerHead;
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  if (!keys.boolean("scale_attn_weights", true)) spec.layers.front().attention_scale = 1.0;
  spec.names = gpt2_names();
  spec.names.ignored.emplace_back("transformer.bias");
}

}  // namespace

const Family kGptBigCode = {.model_type = "gpt_bigcode",
                            .architecture = "GPTBigCodeForCausalLM",
                            .keys = kGpt2Keys,
                            .inner_per_hidden = 4,
                            .activation = "gelu_pytorch_tanh",
                            .max_position_embeddings = 1024,
                            .tie_word_embeddings = true,
                            .read = read_gpt_bigcode};

}  // namespace lime

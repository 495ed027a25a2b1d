// SPDX-License-Identifier: Apache-2.0
#include "train/model_options.h"

#include "core/errors.h"

namespace lime {

void ModelOptions::describe(OptionList& list) {
  list.group("Model");
  list.add("decoder", decoder, "decoder to train");
  list.add("router", router, "earlier layers that the routers of lime read");
  list.add("num_hidden_layers", num_hidden_layers, "number of layers");
  list.add("num_attention_heads", num_attention_heads, "number of query heads");
  list.add("num_key_value_heads", num_key_value_heads,
           "heads of keys and values; as many as query heads if not given");
  list.add("hidden_size", hidden_size, "width of the residual stream");
  list.add("intermediate_size", intermediate_size,
           "width of the SwiGLU block; 4 * hidden size if not given");
  list.add("max_position_embeddings", max_position_embeddings, "longest sequence, in tokens");
  list.add("untie_word_embeddings", untie_word_embeddings,
           "give the output projection weights of its own, not those of the embedding");
}

ModelConfig ModelOptions::config(std::int64_t vocab_size, std::int64_t bos_token_id,
                                 std::int64_t eos_token_id) const {
  constexpr const char* kWhere = "model";
  if (num_attention_heads < 1 || hidden_size < 1 || hidden_size % num_attention_heads != 0) {
    throw InvalidArgument(
        "{}: hidden_size must be a multiple of num_attention_heads, got {} and {}", kWhere,
        hidden_size, num_attention_heads);
  }
  ModelConfig config;
  config.decoder = decoder;
  config.vocab_size = vocab_size;
  config.hidden_size = hidden_size;
  config.intermediate_size = intermediate_size.value_or(4 * hidden_size);
  config.num_hidden_layers = num_hidden_layers;
  config.num_attention_heads = num_attention_heads;
  config.num_key_value_heads = num_key_value_heads.value_or(num_attention_heads);
  config.head_dim = hidden_size / num_attention_heads;
  config.max_position_embeddings = max_position_embeddings;
  config.tie_word_embeddings = !untie_word_embeddings;
  config.qkv_bias = decoder == DecoderKind::kQwen2;
  config.bos_token_id = bos_token_id;
  config.eos_token_ids = {eos_token_id};
  config.torch_dtype = "float32";
  config.lime.router = router;
  config.validate(kWhere);
  return config;
}

}  // namespace lime

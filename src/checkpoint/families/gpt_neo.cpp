// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt_neo.h"

#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

constexpr const char* kTypes = "attention_types";

/// Appends the layers of one entry of `attention_types`: a pattern and how often it repeats.
void append_layers(const KeyReader& keys, const Json& entry, std::int64_t num_layers,
                   std::vector<bool>& local) {
  const auto require = [&](bool holds) {
    if (holds) return;
    keys.fail(kTypes, "a list such as [[[\"global\", \"local\"], 12]]", *keys.find(kTypes));
  };
  require(entry.is_array() && entry.size() == 2 && entry[0].is_array() && !entry[0].empty() &&
          entry[1].is_number_integer());
  const auto repeats = entry[1].get<std::int64_t>();
  for (std::int64_t i = 0; i < repeats && std::ssize(local) <= num_layers; ++i) {
    for (const Json& type : entry[0]) {
      require(type == "global" || type == "local");
      local.push_back(type == "local");
    }
  }
}

/// Returns which layers are local; every second one if the file is silent.
std::vector<bool> read_local_layers(const KeyReader& keys, std::int64_t num_layers) {
  keys.find("attention_layers");  // the same, unrolled, in files that transformers wrote
  std::vector<bool> local;
  if (keys.find(kTypes) == nullptr) {
    for (std::int64_t layer = 0; layer < num_layers; ++layer) local.push_back(layer % 2 == 1);
    return local;
  }
  for (const Json& entry : keys.required_array(kTypes)) {
    append_layers(keys, entry, num_layers, local);
  }
  if (std::ssize(local) == num_layers) return local;
  keys.fail(kTypes, fmt::format("of {} layers", num_layers), *keys.find(kTypes));
}

void read_gpt_neo(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_epsilon");
  set_learned_positions(spec, 0);
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  spec.layers.front().attention_scale = 1.0;
  spec.names = {
      .prefix = "transformer.",
      .layers = "h",
      .embedding = "wte",
      .positions = "wpe",
      .input_norm = "ln_1",
      .mlp_norm = "ln_2",
      .q = "attn.attention.q_proj",
      .k = "attn.attention.k_proj",
      .v = "attn.attention.v_proj",
      .o = "attn.attention.out_proj",
      .up = "mlp.c_fc",
      .down = "mlp.c_proj",
      .final_norm = "ln_f",
      .ignored = {"attn.attention.bias", "attn.attention.masked_bias"},
  };
  set_windows(config, read_local_layers(keys, config.num_hidden_layers),
              keys.integer("window_size").value_or(256));
}

void write_gpt_neo(const ModelConfig& config, Json& json) {
  json["layer_norm_epsilon"] = config.spec.norm.eps;
  Json types = Json::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto& window = config.spec.layer(layer).window;
    if (window) json["window_size"] = *window;
    types.push_back(Json::array({Json::array({window ? "local" : "global"}), 1}));
  }
  json[kTypes] = std::move(types);
}

}  // namespace

const Family kGptNeo = {.model_type = "gpt_neo",
                        .architecture = "GPTNeoForCausalLM",
                        .keys = {.num_hidden_layers = "num_layers",
                                 .num_attention_heads = "num_heads",
                                 .num_key_value_heads = nullptr,
                                 .head_dim = nullptr,
                                 .activation = "activation_function"},
                        .inner_per_hidden = 4,
                        .activation = "gelu_new",
                        .tie_word_embeddings = true,
                        .read = read_gpt_neo,
                        .write = write_gpt_neo};

}  // namespace lime

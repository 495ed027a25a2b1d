// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_architectures.h"

#include <algorithm>
#include <array>
#include <utility>

#include "checkpoint/gguf/gguf_experts.h"

namespace lime {
namespace {

constexpr const char* kLayerNormEps = "attention.layer_norm_epsilon";
constexpr const char* kQueryBias = "blk.0.attn_q.bias";
constexpr const char* kOutputBias = "blk.0.attn_output.bias";
constexpr const char* kQueryNorm = "blk.0.attn_q_norm.weight";

/// Adds the rotary embedding as transformers 5 writes it, or nothing where the file is silent.
void add_rope(const GgufMetadata& data, Json& json) {
  Json rope = Json::object();
  if (const auto theta = data.number("rope.freq_base")) rope["rope_theta"] = *theta;
  const std::string kind = data.keys().text(data.key("rope.scaling.type")).value_or("none");
  const Json factors = data.values("rope_freqs.weight");
  if (kind != "none" && kind != "longrope") {
    rope["rope_type"] = kind;
    if (const auto factor = data.number("rope.scaling.factor")) rope["factor"] = *factor;
    if (const auto original = data.integer("rope.scaling.original_context_length")) {
      rope["original_max_position_embeddings"] = *original;
    }
    if (kind == "yarn") {
      for (const char* const end : {"beta_fast", "beta_slow"}) {
        const auto value = data.number(fmt::format("rope.scaling.yarn_{}", end));
        if (value) rope[end] = *value;
      }
    }
  } else if (const auto factor = data.number("rope.scale_linear"); factor && *factor != 1.0) {
    rope["rope_type"] = "linear";  // of files before 2023-10
    rope["factor"] = *factor;
  } else if (!factors.is_null()) {
    // What LLaMA 3 divides each frequency by; the numbers it follows from are not in the file.
    rope["rope_type"] = "longrope";
    rope["short_factor"] = rope["long_factor"] = factors;
    rope["attention_factor"] = 1.0;
  }
  if (!rope.empty()) json["rope_parameters"] = std::move(rope);
}

void add_biases(const GgufMetadata& data, Json& json) {
  if (data.has(kOutputBias)) json["attention_bias"] = true;
  if (data.has("blk.0.ffn_down.bias")) json["mlp_bias"] = true;
}

void add_llama_keys(const GgufMetadata& data, Json& json) {
  json["rms_norm_eps"] = data.required_number("attention.layer_norm_rms_epsilon");
  add_rope(data, json);
}

void add_llama(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  add_biases(data, json);
}

/// Mixtral is the architecture of LLaMA with experts.
void add_llama_or_mixtral(const GgufMetadata& data, Json& json) {
  if (!has_gguf_experts(data)) return add_llama(data, json);
  add_llama_keys(data, json);
  add_gguf_experts(data, "num_local_experts", json);
}

void add_olmoe(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  add_gguf_experts(data, "num_experts", json);
}

void add_qwen2_moe(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  json["qkv_bias"] = data.has(kQueryBias);
  add_gguf_experts(data, "num_experts", json);
  add_gguf_expert_width(data, json);
  const auto shared = data.size("expert_shared_feed_forward_length");
  json["shared_expert_intermediate_size"] =
      shared ? *shared : data.required_size("feed_forward_length");
}

void add_qwen3_moe(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  json["attention_bias"] = data.has(kOutputBias);
  json["norm_topk_prob"] = true;  // of the released models, and of llama.cpp
  add_gguf_experts(data, "num_experts", json);
  add_gguf_expert_width(data, json);
}

void add_granite_keys(const GgufMetadata& data, Json& json) {
  refuse_granite_variants(data);
  add_llama_keys(data, json);
  for (const auto& [key, name] : {std::pair("attention_multiplier", "attention.scale"),
                                  std::pair("embedding_multiplier", "embedding_scale"),
                                  std::pair("residual_multiplier", "residual_scale"),
                                  std::pair("logits_scaling", "logit_scale")}) {
    if (const auto value = data.number(name)) json[key] = *value;
  }
}

void add_granite(const GgufMetadata& data, Json& json) {
  add_granite_keys(data, json);
  add_biases(data, json);
}

void add_granite_moe(const GgufMetadata& data, Json& json) {
  add_granite_keys(data, json);
  json["attention_bias"] = data.has(kOutputBias);
  add_gguf_experts(data, "num_local_experts", json);
}

/// OLMo 3 is the architecture of OLMo 2 with windows, and rescales only the layers without them.
void add_olmo2(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  const auto window = data.integer("attention.sliding_window");
  if (!window) return;
  json["model_type"] = "olmo3";
  json["sliding_window"] = *window;
  Json rope = json.value("rope_parameters", Json::object());
  Json sliding = Json::object();
  if (rope.contains("rope_theta")) sliding["rope_theta"] = rope["rope_theta"];
  json["rope_parameters"] = {{"full_attention", std::move(rope)},
                             {"sliding_attention", std::move(sliding)}};
}

/// Adds what Gemma 2 and 3 divide the scores by: the square root of the size of a head, except in
/// the largest model of each, which llama.cpp recognises by its number of layers.
void add_query_scalar(const GgufMetadata& data, std::int64_t layers_of_27b, Json& json) {
  const auto layers = data.required_size("block_count");
  const auto hidden = data.required_size("embedding_length");
  const auto heads = std::max<std::int64_t>(data.required_size("attention.head_count"), 1);
  const auto head_dim = data.integer("attention.key_length").value_or(hidden / heads);
  json["query_pre_attn_scalar"] = layers == layers_of_27b ? hidden / heads : head_dim;
}

void add_gemma2(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  add_query_scalar(data, 46, json);
  for (const auto& [key, name] :
       {std::pair("attn_logit_softcapping", "attn_logit_softcapping"),
        std::pair("final_logit_softcapping", "final_logit_softcapping")}) {
    if (const auto value = data.number(name)) json[key] = *value;
  }
  if (const auto window = data.integer("attention.sliding_window"))
    json["sliding_window"] = *window;
}

void add_gemma3(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  add_query_scalar(data, 62, json);
  if (const auto window = data.integer("attention.sliding_window"))
    json["sliding_window"] = *window;
  if (const auto cap = data.number("final_logit_softcapping"))
    json["final_logit_softcapping"] = *cap;
  if (const auto pattern = data.integer("attention.sliding_window_pattern")) {
    json["sliding_window_pattern"] = *pattern;
  }
  Json full = json.value("rope_parameters", Json::object());
  const Json sliding = {{"rope_theta", data.number("rope.freq_base_swa").value_or(10000.0)}};
  json["rope_parameters"] = {{"full_attention", std::move(full)}, {"sliding_attention", sliding}};
}

/// Adds the fraction of the dimensions of a head that rotate.
void add_partial_rotation(const GgufMetadata& data, const char* key, Json& json) {
  const auto rotated = data.integer("rope.dimension_count");
  const std::int64_t head_dim = data.head_dim();
  if (rotated && head_dim > 0) {
    json[key] = static_cast<double>(*rotated) / static_cast<double>(head_dim);
  }
}

void add_phi3(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  add_partial_rotation(data, "partial_rotary_factor", json);
  if (const auto window = data.integer("attention.sliding_window"); window && *window > 0) {
    json["sliding_window"] = *window;
  }
  const auto original = data.integer("rope.scaling.original_context_length");
  if (original) json["original_max_position_embeddings"] = *original;
  Json long_factor = data.values("rope_factors_long.weight");
  Json short_factor = data.values("rope_factors_short.weight");
  if (long_factor.is_null() || short_factor.is_null()) return;
  Json& rope = json["rope_parameters"];
  rope["rope_type"] = "longrope";
  rope["short_factor"] = std::move(short_factor);
  rope["long_factor"] = std::move(long_factor);
  if (const auto factor = data.number("rope.scaling.attn_factor"))
    rope["attention_factor"] = *factor;
}

void add_gpt2(const GgufMetadata& data, Json& json) {
  json["layer_norm_epsilon"] = data.required_number(kLayerNormEps);
}

void add_gpt_neox(const GgufMetadata& data, Json& json) {
  json["layer_norm_eps"] = data.required_number(kLayerNormEps);
  json["use_parallel_residual"] = data.keys().boolean(data.key("use_parallel_residual"), true);
  add_partial_rotation(data, "rotary_pct", json);
  add_rope(data, json);
}

/// Adds the window, and which layers have it if the file lists them.
void add_listed_windows(const GgufMetadata& data, Json& json) {
  const auto window = data.integer("attention.sliding_window");
  if (!window) return;
  json["sliding_window"] = *window;
  Json types = Json::array();
  for (const double slides : data.list("attention.sliding_window_pattern")) {
    types.push_back(slides != 0.0 ? "sliding_attention" : "full_attention");
  }
  if (!types.empty()) json["layer_types"] = std::move(types);
}

void add_exaone4(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  json["sliding_window"] = nullptr;  // unless the file has one
  add_listed_windows(data, json);
}

void add_gpt_oss(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  add_listed_windows(data, json);
  json["attention_bias"] = data.has(kOutputBias);
  add_gguf_experts(data, "num_local_experts", json);
  // Not in the file: the released models do not round the ends of YaRN's ramp.
  const auto rope = json.find("rope_parameters");
  if (rope != json.end() && rope->value("rope_type", "") == "yarn") (*rope)["truncate"] = false;
}

void add_seed_oss(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  json["attention_bias"] = data.has(kQueryBias);
  json["attention_out_bias"] = data.has(kOutputBias);
}

/// llama.cpp has the second norm before attention, where there are two.
void name_falcon_norms(const ModelConfig& config, TensorNames& names) {
  const DecoderSpec& spec = config.spec;
  if (!spec.parallel_residual || spec.shares_input_norm) return;
  names.input_norm = "attn_norm_2";
  names.mlp_norm = "attn_norm";
}

void name_norm_before_mlp(const ModelConfig&, TensorNames& names) {
  names.mlp_norm = "post_attention_norm";
}

void add_falcon(const GgufMetadata& data, Json& json) {
  json["layer_norm_epsilon"] = data.required_number(kLayerNormEps);
  json["bias"] = data.has("blk.0.attn_qkv.bias");
  const bool has_one = data.size("attention.head_count_kv").value_or(1) == 1;
  const bool has_two_norms = data.has("blk.0.attn_norm_2.weight");
  json["new_decoder_architecture"] = !has_one || has_two_norms;
  json["num_ln_in_parallel_attn"] = has_two_norms ? 2 : 1;
  add_rope(data, json);
}

void add_gpt_bigcode(const GgufMetadata& data, Json& json) {
  json["layer_norm_epsilon"] = data.required_number(kLayerNormEps);
  json["multi_query"] = data.size("attention.head_count_kv").value_or(1) == 1;
}

void add_starcoder2(const GgufMetadata& data, Json& json) {
  json["norm_epsilon"] = data.required_number(kLayerNormEps);
  json["use_bias"] = data.has(kOutputBias);
  json["initializer_range"] = 0.018042;  // the default of transformers, for new weights only
  add_rope(data, json);
}

void add_stablelm(const GgufMetadata& data, Json& json) {
  json["layer_norm_eps"] = data.required_number(kLayerNormEps);
  json["use_qkv_bias"] = data.has(kQueryBias);
  json["qk_layernorm"] = data.has(kQueryNorm);
  json["use_parallel_residual"] = !data.has("blk.0.ffn_norm.weight");
  add_partial_rotation(data, "partial_rotary_factor", json);
  add_rope(data, json);
}

void add_phi2(const GgufMetadata& data, Json& json) {
  json["layer_norm_eps"] = data.required_number(kLayerNormEps);
  add_partial_rotation(data, "partial_rotary_factor", json);
  add_rope(data, json);
}

void add_command_r(const GgufMetadata& data, Json& json) {
  json["layer_norm_eps"] = data.required_number(kLayerNormEps);
  json["logit_scale"] = data.required_number("logit_scale");
  json["use_qk_norm"] = data.has(kQueryNorm);
  json["attention_bias"] = data.has(kOutputBias);
  add_rope(data, json);
}

void add_cohere2(const GgufMetadata& data, Json& json) {
  json["layer_norm_eps"] = data.required_number(kLayerNormEps);
  json["logit_scale"] = data.required_number("logit_scale");
  if (const auto window = data.integer("attention.sliding_window")) {
    json["sliding_window"] = *window;
  }
  add_rope(data, json);
}

void add_glm4(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  json["attention_bias"] = data.has(kQueryBias);
  add_partial_rotation(data, "partial_rotary_factor", json);
}

void add_jais2(const GgufMetadata& data, Json& json) {
  json["layer_norm_eps"] = data.required_number(kLayerNormEps);
  json["attention_bias"] = data.has(kOutputBias);
  json["mlp_bias"] = data.has("blk.0.ffn_down.bias");
  add_rope(data, json);
}

void add_ernie4_5(const GgufMetadata& data, Json& json) {
  add_llama_keys(data, json);
  json["use_bias"] = data.has(kOutputBias);
}

void add_olmo(const GgufMetadata& data, Json& json) {
  if (const auto bound = data.number("attention.clamp_kqv")) json["clip_qkv"] = *bound;
  add_rope(data, json);
}

/// Source: convert_hf_to_gguf.py and src/llama-arch.cpp of github.com/ggml-org/llama.cpp.
constexpr std::array kArchitectures = std::to_array<GgufArchitecture>({
    {"llama", "llama", add_llama_or_mixtral, true, nullptr, 0, "mixtral"},
    {"qwen2", "qwen2", add_llama_keys},
    {"qwen2moe", "qwen2_moe", add_qwen2_moe},
    {"qwen3", "qwen3", add_llama},
    {"qwen3moe", "qwen3_moe", add_qwen3_moe},
    {"smollm3", "smollm3", add_llama, true},
    {"olmo", "olmo", add_olmo, true},
    {"olmo2", "olmo2", add_olmo2},
    {"olmoe", "olmoe", add_olmoe},
    {"phi2", "phi", add_phi2},
    {"phi3", "phi3", add_phi3},
    {"gemma", "gemma", add_llama_keys},
    {"gemma2", "gemma2", add_gemma2},
    {"gemma3", "gemma3_text", add_gemma3},
    {"granite", "granite", add_granite, true},
    {"granitemoe", "granitemoe", add_granite_moe, true},
    {"gpt-oss", "gpt_oss", add_gpt_oss, false, name_norm_before_mlp},
    {"exaone", "exaone", add_llama_keys},
    {"exaone4", "exaone4", add_exaone4},
    {"seed_oss", "seed_oss", add_seed_oss, false, name_norm_before_mlp},
    {"arcee", "arcee", add_llama, true},
    {"jais2", "jais2", add_jais2},
    {"starcoder2", "starcoder2", add_starcoder2, false, nullptr, 4096},
    {"hunyuan-dense", "hunyuan_v1_dense", add_llama},
    {"ernie4_5", "ernie4_5", add_ernie4_5},
    {"glm4", "glm4", add_glm4},
    {"command-r", "cohere", add_command_r},
    {"cohere2", "cohere2", add_cohere2},
    {"stablelm", "stablelm", add_stablelm},
    {"falcon", "falcon", add_falcon, false, name_falcon_norms},
    {"gptneox", "gpt_neox", add_gpt_neox},
    {"gpt2", "gpt2", add_gpt2},
    {"starcoder", "gpt_bigcode", add_gpt_bigcode},
});

}  // namespace

std::span<const GgufArchitecture> all_gguf_architectures() { return kArchitectures; }

}  // namespace lime

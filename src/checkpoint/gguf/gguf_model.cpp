// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_model.h"

#include <algorithm>
#include <array>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/weights/float_reader.h"
#include "core/errors.h"
#include "core/options.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr const char* kDescribedIn = "its metadata";

/// Typed access to the metadata of one architecture and to the tensors of a file.
class Metadata {
 public:
  Metadata(const GgufHeader& header, std::string_view where)
      : header_(header),
        keys_(header.metadata, fmt::format("'{}'", where)),
        architecture_(keys_.required_text("general.architecture")) {}

  const KeyReader& keys() const { return keys_; }
  const std::string& architecture() const { return architecture_; }
  /// Returns the whole key of a key of the architecture: "llama.block_count" of "block_count".
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  std::optional<double> number(std::string_view name) const { return keys_.number(key(name)); }
  std::optional<std::int64_t> integer(std::string_view name) const {
    return keys_.integer(key(name));
  }

  /// Returns a size that some architectures list per layer; layers of different sizes are refused.
  std::optional<std::int64_t> size(std::string_view name) const {
    const GgufArray* const list = header_.find_array(key(name));
    if (list == nullptr) return integer(name);
    const std::vector<double> sizes = list->numbers();
    throw_if<FormatError>(
        sizes.empty() || std::ranges::adjacent_find(sizes, std::not_equal_to()) != sizes.end(),
        "{}: '{}' must be the same for all layers; models with layers of "
        "different sizes are not supported",
        keys_.where(), key(name));
    return static_cast<std::int64_t>(sizes.front());
  }

  std::int64_t required_size(std::string_view name) const {
    if (const auto found = size(name)) return *found;
    return keys_.required_integer(key(name));  // throws
  }

  const TensorView* tensor(std::string_view name) const {
    const auto found = std::ranges::find(header_.tensors, name, &TensorView::name);
    return found == header_.tensors.end() ? nullptr : &*found;
  }

  /// Returns the elements of a small tensor as a list, or null if there is none.
  Json values(std::string_view name) const {
    const TensorView* const found = tensor(name);
    if (found == nullptr) return nullptr;
    constexpr std::int64_t kMost = 65536;
    throw_if<FormatError>(element_count(found->shape) > kMost || found->dtype != Dtype::kF32,
                          "{}: tensor '{}' must have at most {} elements of type F32, got {} {}",
                          keys_.where(), name, kMost, dtype_name(found->dtype),
                          shape_text(found->shape));
    std::vector<float> values(static_cast<std::size_t>(element_count(found->shape)));
    convert_weights(found->dtype, found->bytes, std::span<float>(values));
    return values;
  }

 private:
  const GgufHeader& header_;
  KeyReader keys_;
  std::string architecture_;
};

/// Adds the rotary embedding as transformers 5 writes it, or nothing where the file is silent.
void add_rope(const Metadata& data, Json& json) {
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

void add_biases(const Metadata& data, Json& json) {
  if (data.tensor("blk.0.attn_output.bias") != nullptr) json["attention_bias"] = true;
  if (data.tensor("blk.0.ffn_down.bias") != nullptr) json["mlp_bias"] = true;
}

void add_llama_keys(const Metadata& data, Json& json) {
  json["rms_norm_eps"] = data.keys().required_number(data.key("attention.layer_norm_rms_epsilon"));
  add_rope(data, json);
}

void add_llama(const Metadata& data, Json& json) {
  add_llama_keys(data, json);
  add_biases(data, json);
}

void add_granite(const Metadata& data, Json& json) {
  add_llama(data, json);
  for (const auto& [key, name] : {std::pair("attention_multiplier", "attention.scale"),
                                  std::pair("embedding_multiplier", "embedding_scale"),
                                  std::pair("residual_multiplier", "residual_scale"),
                                  std::pair("logits_scaling", "logit_scale")}) {
    if (const auto value = data.number(name)) json[key] = *value;
  }
}

/// OLMo 3 is the architecture of OLMo 2 with windows, and rescales only the layers without them.
void add_olmo2(const Metadata& data, Json& json) {
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
void add_query_scalar(const Metadata& data, std::int64_t layers_of_27b, Json& json) {
  const auto layers = data.required_size("block_count");
  const auto hidden = data.required_size("embedding_length");
  const auto heads = std::max<std::int64_t>(data.required_size("attention.head_count"), 1);
  const auto head_dim = data.integer("attention.key_length").value_or(hidden / heads);
  json["query_pre_attn_scalar"] = layers == layers_of_27b ? hidden / heads : head_dim;
}

void add_gemma2(const Metadata& data, Json& json) {
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

void add_gemma3(const Metadata& data, Json& json) {
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
void add_partial_rotation(const Metadata& data, const char* key, Json& json) {
  const auto rotated = data.integer("rope.dimension_count");
  const auto heads = std::max<std::int64_t>(data.required_size("attention.head_count"), 1);
  const auto head_dim = data.required_size("embedding_length") / heads;
  if (rotated && head_dim > 0) {
    json[key] = static_cast<double>(*rotated) / static_cast<double>(head_dim);
  }
}

void add_phi3(const Metadata& data, Json& json) {
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

void add_gpt2(const Metadata& data, Json& json) {
  json["layer_norm_epsilon"] =
      data.keys().required_number(data.key("attention.layer_norm_epsilon"));
}

void add_gpt_neox(const Metadata& data, Json& json) {
  json["layer_norm_eps"] = data.keys().required_number(data.key("attention.layer_norm_epsilon"));
  json["use_parallel_residual"] = data.keys().boolean(data.key("use_parallel_residual"), true);
  add_partial_rotation(data, "rotary_pct", json);
  add_rope(data, json);
}

/// One architecture of llama.cpp.
struct Architecture {
  std::string_view name;        ///< `general.architecture`
  std::string_view model_type;  ///< of transformers
  /// Adds the keys of config.json that are not sizes.
  void (*add_keys)(const Metadata& data, Json& json);
  /// Rows of queries and keys alternate between the first and the second half of a head, because
  /// llama.cpp rotates neighbours.
  bool alternates_halves = false;
};

/// Source: convert_hf_to_gguf.py and src/llama-arch.cpp of github.com/ggml-org/llama.cpp.
constexpr std::array<Architecture, 12> kArchitectures = {{{"llama", "llama", add_llama, true},
                                                          {"qwen2", "qwen2", add_llama_keys},
                                                          {"qwen3", "qwen3", add_llama},
                                                          {"smollm3", "smollm3", add_llama, true},
                                                          {"olmo2", "olmo2", add_olmo2},
                                                          {"phi3", "phi3", add_phi3},
                                                          {"gemma", "gemma", add_llama_keys},
                                                          {"gemma2", "gemma2", add_gemma2},
                                                          {"gemma3", "gemma3_text", add_gemma3},
                                                          {"granite", "granite", add_granite, true},
                                                          {"gptneox", "gpt_neox", add_gpt_neox},
                                                          {"gpt2", "gpt2", add_gpt2}}};

const Architecture& architecture_of(const Metadata& data) {
  const auto found = std::ranges::find(kArchitectures, data.architecture(), &Architecture::name);
  if (found != kArchitectures.end()) return *found;
  const std::string typed = closest_word(data.architecture(), gguf_architectures());
  throw FormatError(
      "{}: the architecture '{}' is not supported (supported: {}){}; if its Hugging Face folder is "
      "not supported either, record the model from Python with lime_toolkit.Recorder",
      data.keys().where(), printable(data.architecture()), join_words(gguf_architectures()),
      typed.empty() ? "" : fmt::format("; the nearest is '{}'", typed));
}

/// Adds the sizes under the names of LLaMA's config.json.
void add_sizes(const Metadata& data, Json& json) {
  const TensorView* const embedding = data.tensor("token_embd.weight");
  throw_if<FormatError>(embedding == nullptr || embedding->shape.size() != 2,
                        "{}: must have a tensor 'token_embd.weight' with two dimensions; the file "
                        "contains no language model",
                        data.keys().where());
  json["vocab_size"] = embedding->shape.front();
  json["hidden_size"] = data.required_size("embedding_length");
  json["intermediate_size"] = data.required_size("feed_forward_length");
  json["num_hidden_layers"] = data.required_size("block_count");
  json["num_attention_heads"] = data.required_size("attention.head_count");
  if (const auto heads = data.size("attention.head_count_kv")) json["num_key_value_heads"] = *heads;
  if (const auto size = data.integer("attention.key_length")) json["head_dim"] = *size;
  json["max_position_embeddings"] = data.required_size("context_length");
}

/// Adds the tokens that begin and end texts; a chat model has one more that ends its turn.
void add_special_ids(const Metadata& data, Json& json) {
  const KeyReader& keys = data.keys();
  if (const auto bos = keys.integer("tokenizer.ggml.bos_token_id")) json["bos_token_id"] = *bos;
  std::vector<std::int64_t> ends;
  for (const char* const key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    const auto id = keys.integer(key);
    if (id && std::ranges::find(ends, *id) == ends.end()) ends.push_back(*id);
  }
  if (ends.size() == 1) json["eos_token_id"] = ends.front();
  if (ends.size() > 1) json["eos_token_id"] = ends;
}

/// The names of all architectures; fused tensors exist in those that fuse them.
TensorNames gguf_names() {
  return {
      .prefix = "",
      .layers = "blk",
      .embedding = "token_embd",
      .positions = "position_embd",
      .input_norm = "attn_norm",
      .attention_norm = "post_attention_norm",
      .mlp_norm = "ffn_norm",
      .output_norm = "post_ffw_norm",
      .q = "attn_q",
      .k = "attn_k",
      .v = "attn_v",
      .qkv = "attn_qkv",
      .q_norm = "attn_q_norm",
      .k_norm = "attn_k_norm",
      .o = "attn_output",
      .gate = "ffn_gate",
      .up = "ffn_up",
      .gate_up = "ffn_up",
      .down = "ffn_down",
      .final_norm = "output_norm",
      .output = "output",
      .ignored = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}};
}

/// Returns the config of the same model with its tensors as a GGUF file has them.
ModelConfig as_stored(ModelConfig config) {
  DecoderSpec& spec = config.spec;
  spec.names = gguf_names();
  spec.transposed_linears = false;
  if (spec.qkv_layout == QkvLayout::kPerHead) spec.qkv_layout = QkvLayout::kConcatenated;
  return config;
}

/// Says where the rows of a head are whose halves alternate.
void alternate_halves(const ModelConfig& config, Part part, StoredPlace& place) {
  const bool is_query = part == Part::kQuery;
  place.heads = is_query ? config.num_attention_heads : config.num_key_value_heads;
  place.head_stride = config.head_dim * place.row_stride;
  place.parts = 2;
  place.part_stride = place.row_stride;
  place.row_stride *= 2;
}

}  // namespace

std::vector<std::string> gguf_architectures() {
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) names.emplace_back(architecture.name);
  return names;
}

ModelConfig gguf_model_config(const GgufHeader& header, std::string_view where) {
  const Metadata data(header, where);
  const Architecture& architecture = architecture_of(data);
  Json json = {{"model_type", architecture.model_type}};
  add_sizes(data, json);
  add_special_ids(data, json);
  json["tie_word_embeddings"] = data.tensor("output.weight") == nullptr;
  architecture.add_keys(data, json);
  const std::string model_type = json["model_type"].get<std::string>();
  json.erase("model_type");
  return make_model_config(model_type, json, data.keys().where());
}

TensorSources locate_gguf_tensors(const std::vector<TensorView>& stored, ModelConfig& config,
                                  std::string_view where) {
  ModelConfig in_file = as_stored(config);
  TensorSources located = locate_tensors(stored, in_file, where, kDescribedIn);
  config.tie_word_embeddings = in_file.tie_word_embeddings;
  config.has_head = in_file.has_head;
  const bool alternates = std::ranges::any_of(kArchitectures, [&](const Architecture& one) {
    return one.model_type == config.family && one.alternates_halves;
  });
  const std::vector<ParameterSpec> from = parameter_specs(in_file);
  const std::vector<ParameterSpec> to = parameter_specs(config);
  TensorSources result;
  result.warnings = std::move(located.warnings);
  for (std::size_t i = 0; i < to.size(); ++i) {
    TensorSource source = std::move(located.by_name.at(from[i].name));
    const Part part = to[i].part;
    if (alternates && (part == Part::kQuery || part == Part::kKey)) {
      alternate_halves(config, part, source.place);
    }
    if (is_norm(part) && config.spec.norm.kind == NormKind::kRmsPlusOne) source.added = -1.0F;
    source.info.name = to[i].name;
    result.by_name.emplace(to[i].name, std::move(source));
  }
  return result;
}

}  // namespace lime

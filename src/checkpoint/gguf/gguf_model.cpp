// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_model.h"

#include <algorithm>
#include <array>

#include "checkpoint/gguf/gguf_architectures.h"
#include "checkpoint/gguf/gguf_experts.h"
#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "core/options.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr const char* kDescribedIn = "its metadata";

const GgufArchitecture& architecture_of(const GgufMetadata& data) {
  const auto all = all_gguf_architectures();
  const auto found = std::ranges::find(all, data.architecture(), &GgufArchitecture::name);
  if (found != all.end()) return *found;
  const std::string typed = closest_word(data.architecture(), gguf_architectures());
  throw FormatError(
      "{}: the architecture '{}' is not supported (supported: {}){}; if its Hugging Face folder is "
      "not supported either, record the model from Python with lime_toolkit.Recorder",
      data.keys().where(), printable(data.architecture()), join_words(gguf_architectures()),
      typed.empty() ? "" : fmt::format("; the nearest is '{}'", typed));
}

/// Adds the sizes under the names of LLaMA's config.json.
void add_sizes(const GgufMetadata& data, Json& json) {
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
void add_special_ids(const GgufMetadata& data, Json& json) {
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
      .sinks = "attn_sinks.weight",
      .router = "ffn_gate_inp",
      .packed_gate = "ffn_gate_exps.weight",
      .packed_up = "ffn_up_exps.weight",
      .packed_down = "ffn_down_exps.weight",
      .shared_expert = "ffn_{}_shexp",
      .shared_expert_gate = "ffn_gate_inp_shexp",
      .final_norm = "output_norm",
      .output = "output",
      .ignored = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}};
}

/// Returns the config of the same model with its tensors as a GGUF file has them.
ModelConfig as_stored(ModelConfig config, const GgufArchitecture* architecture) {
  DecoderSpec& spec = config.spec;
  spec.names = gguf_names();
  if (architecture != nullptr && architecture->change_names != nullptr) {
    architecture->change_names(config, spec.names);
  }
  spec.transposed_linears = false;
  if (spec.experts) spec.experts->layout = ExpertLayout::kPackedParts;
  if (spec.qkv_layout == QkvLayout::kPerHead) spec.qkv_layout = QkvLayout::kConcatenated;
  return config;
}

/// Restores the first dimension of matrices with one row: llama.cpp drops it.
std::vector<TensorView> with_row_dimension(std::vector<TensorView> tensors) {
  for (TensorView& tensor : tensors) {
    const bool is_row = tensor.name.ends_with(".ffn_gate_inp_shexp.weight");
    if (is_row && tensor.shape.size() == 1) tensor.shape.insert(tensor.shape.begin(), 1);
  }
  return tensors;
}

/// Returns the architecture of a family, or null.
const GgufArchitecture* find_architecture(std::string_view family) {
  for (const GgufArchitecture& architecture : all_gguf_architectures()) {
    if (family == architecture.model_type) return &architecture;
    if (family == architecture.model_type_of_experts) return &architecture;
  }
  return nullptr;
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

/// Returns false if a parameter is not made of whole blocks of its quantised tensor, as the bias of
/// an expert, whose rows are single numbers.
bool has_whole_blocks(const TensorSource& source, const Shape& shape) {
  const auto block = static_cast<std::int64_t>(block_elements(source.info.dtype));
  const StoredPlace& place = source.place;
  if (element_count(shape) == element_count(place.shape) && place.heads * place.parts == 1) {
    return true;
  }
  const std::int64_t columns = element_count(shape) / shape.front();
  return std::ranges::all_of(
      std::array{columns, place.offset, place.head_stride, place.part_stride, place.row_stride},
      [&](std::int64_t elements) { return elements % block == 0; });
}

}  // namespace

std::vector<std::string> gguf_architectures() {
  std::vector<std::string> names;
  for (const GgufArchitecture& architecture : all_gguf_architectures()) {
    names.emplace_back(architecture.name);
  }
  return names;
}

ModelConfig gguf_model_config(const GgufHeader& header, std::string_view where) {
  const GgufMetadata data(header, where);
  const GgufArchitecture& architecture = architecture_of(data);
  const std::string_view of_experts = architecture.model_type_of_experts;
  const bool is_of_experts = !of_experts.empty() && has_gguf_experts(data);
  Json json = {{"model_type", is_of_experts ? of_experts : architecture.model_type}};
  add_sizes(data, json);
  add_special_ids(data, json);
  json["tie_word_embeddings"] = data.tensor("output.weight") == nullptr;
  architecture.add_keys(data, json);
  const std::string model_type = json["model_type"].get<std::string>();
  json.erase("model_type");
  ModelConfig config = make_model_config(model_type, json, data.keys().where());
  const std::int64_t window = architecture.unstored_window;
  if (window > 0 && config.max_position_embeddings > window) {
    config.warnings.push_back(fmt::format(
        "{}: GGUF does not store the sliding window, {} tokens in released models of {}; beyond it "
        "tokens attend to the whole sequence here; use the Hugging Face folder for such sequences",
        data.keys().where(), window, architecture.name));
  }
  return config;
}

TensorSources locate_gguf_tensors(const std::vector<TensorView>& stored, ModelConfig& config,
                                  std::string_view where) {
  const GgufArchitecture* const architecture = find_architecture(config.family);
  ModelConfig in_file = as_stored(config, architecture);
  TensorSources located = locate_tensors(with_row_dimension(stored), in_file, where, kDescribedIn);
  config.tie_word_embeddings = in_file.tie_word_embeddings;
  config.has_head = in_file.has_head;
  const bool alternates = architecture != nullptr && architecture->alternates_halves;
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
    throw_if<FormatError>(
        !has_whole_blocks(source, to[i].shape),
        "'{}': tensor '{}' must be F32, F16 or BF16, got {}, whose blocks contain "
        "parts of several rows; use a file with unquantised biases",
        where, printable(source.info.stored_name, 120), dtype_name(source.info.dtype));
    source.info.name = to[i].name;
    result.by_name.emplace(to[i].name, std::move(source));
  }
  return result;
}

}  // namespace lime

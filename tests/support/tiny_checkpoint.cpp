// SPDX-License-Identifier: Apache-2.0
#include "support/tiny_checkpoint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/families/family.h"
#include "checkpoint/parameters.h"
#include "checkpoint/parse_model_config.h"
#include "core/json.h"
#include "core/random.h"
#include "support/test_data.h"

namespace lime::testing {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kMerges = {
    {{"\xc4\xa0", "i"},
     {"\xc4\xa0i", "s"},
     {"a", "r"},
     {"ar", "e"},
     {"\xc4\xa0", "are"},
     {"w", "a"},
     {"wa", "s"},
     {"\xc4\xa0", "was"},
     {"r", "e"},
     {"e", "re"},
     {"w", "ere"},
     {"\xc4\xa0", "were"}}};

std::string utf8(unsigned code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3f))};
}

/// Returns GPT-2's printable character for a byte.
std::string letter_of(unsigned byte) {
  const auto is_visible = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  if (is_visible(byte)) return utf8(byte);
  unsigned hidden = 0;
  for (unsigned b = 0; b < byte; ++b) hidden += is_visible(b) ? 0 : 1;
  return utf8(256 + hidden);
}

Json tokenizer_json() {
  Json vocab = Json::object();
  for (unsigned byte = 0; byte < 256; ++byte) vocab[letter_of(byte)] = byte;
  vocab["<s>"] = 256;
  vocab["</s>"] = 257;
  Json merges = Json::array();
  int next = 258;
  for (const auto& [left, right] : kMerges) {
    const std::string merged = std::string(left) + std::string(right);
    vocab[merged] = next++;
    merges.push_back(std::string(left) + " " + std::string(right));
  }
  const auto special = [](int id, const char* content) {
    return Json{{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  };
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  const Json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", {special(256, "<s>"), special(257, "</s>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {bos, text}},
            {"pair", {bos, text}},
            {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {256}}, {"tokens", {"<s>"}}}}}}}},
          {"decoder", byte_level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"vocab", vocab},
            {"merges", merges}}}};
}

}  // namespace

ModelConfig tiny_config(const std::string& decoder, std::int64_t num_layers) {
  Json keys = {{"vocab_size", 280},
               {"hidden_size", 24},
               {"intermediate_size", 40},
               {"num_hidden_layers", num_layers},
               {"num_attention_heads", 4},
               {"num_key_value_heads", 2},
               {"head_dim", 6},
               {"max_position_embeddings", 64},
               {"tie_word_embeddings", false},
               {"bos_token_id", 256},
               {"eos_token_id", 257}};
  if (decoder == "mistral") keys["sliding_window"] = 5;
  // Their own fractions give odd numbers of 6 dimensions.
  constexpr std::array<std::string_view, 4> kPartlyRotated = {"glm", "glm4", "phi", "stablelm"};
  if (std::ranges::find(kPartlyRotated, decoder) != kPartlyRotated.end()) {
    keys["partial_rotary_factor"] = 0.34;
  }
  const Family* const family = find_family(decoder);
  if (family != nullptr && family->num_experts_key != nullptr) {
    keys.update({{"num_experts", 4},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 40},
                 {"shared_expert_intermediate_size", 40}});
  }
  return make_model_config(decoder, keys, "tiny config");
}

void write_tiny_checkpoint(const std::filesystem::path& folder, const ModelConfig& config,
                           double weight_scale) {
  Random random(3);
  std::vector<std::vector<float>> weights;
  std::vector<TensorView> views;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    const bool is_gain = spec.shape.size() == 1;
    std::vector<float>& values = weights.emplace_back();
    for (std::int64_t i = 0; i < element_count(spec.shape); ++i) {
      values.push_back(static_cast<float>((is_gain ? 1.0 : 0.0) + weight_scale * random.normal()));
    }
    views.push_back({spec.name, Dtype::kF32, spec.shape, {}});
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].bytes = std::as_bytes(std::span(weights[i]));
  }
  write_checkpoint(folder, config, views);
  write_text(folder / "tokenizer.json", tokenizer_json().dump());
  write_text(folder / "tokenizer_config.json",
             R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true})");
}

void move_to_released_layout(const std::filesystem::path& folder) {
  const auto move = [&](const char* name, const char* into) {
    if (!std::filesystem::exists(folder / name)) return;
    std::filesystem::create_directories(folder / into);
    std::filesystem::rename(folder / name, folder / into / name);
  };
  Json config = read_json_file(folder / "config.json");
  config["model_type"] = "llama";
  config.erase("lime");
  write_text(folder / "config.json", config.dump());
  move("config.json", "config");
  move("model.safetensors", "final");
  move("tokenizer.json", "tokenizer");
  move("tokenizer_config.json", "tokenizer");
}

std::string tiny_text(int num_words, std::uint64_t seed) {
  constexpr std::array<std::string_view, 12> kWords = {"the",  "cat",  "dogs", "is",  "are", "was",
                                                       "were", "here", "now",  "old", "and", "red"};
  Random random(seed);
  std::string text = "Once";
  for (int i = 1; i < num_words; ++i) {
    text += " " + std::string(kWords[static_cast<std::size_t>(random.below(kWords.size()))]);
  }
  return text + ".";
}

}  // namespace lime::testing

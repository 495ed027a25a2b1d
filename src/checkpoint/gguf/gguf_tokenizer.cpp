// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <set>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/tokenizer/piece_tokenizer_json.h"
#include "checkpoint/tokenizer/tokenizer_json.h"
#include "core/errors.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr const char* kTypes = "tokenizer.ggml.token_type";
constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr const char* kMerges = "tokenizer.ggml.merges";
constexpr const char* kPre = "tokenizer.ggml.pre";
constexpr const char* kSpaceMark = "\u2581";

// Patterns that cut a text into words, from the tokenizer.json of the first model that had them.

constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// How a text is cut into words before byte-level BPE.
struct WordCutting {
  std::string_view name;                   ///< `tokenizer.ggml.pre`
  const char* pattern = nullptr;           ///< null: GPT-2's
  bool cuts_digits = false;                ///< every digit is a word
  bool words_in_vocabulary_first = false;  ///< a word that is a token is not cut (`ignore_merges`)
  bool adds_bos = false;                   ///< unless the file says otherwise
};

constexpr std::array<WordCutting, 41> kWordCuttings = {
    {{"gpt-2"},
     {"olmo"},
     {"mpt"},
     {"phi-2"},
     {"jais"},
     {"gigachat"},
     {"a.x-4.0"},
     {"mellum"},
     {"trillion"},
     {"granite-docling"},
     {"exaone4"},
     {"smollm", nullptr, true},
     {"starcoder", nullptr, true},
     {"refact", nullptr, true},
     {"command-r", nullptr, true},
     {"codeshell", nullptr, true},
     {"exaone", nullptr, true},
     {"minerva-7b", nullptr, true},
     {"mellum2", nullptr, true},
     {"llama-bpe", kLlama3Pattern, false, true, true},
     {"llama3", kLlama3Pattern, false, true, true},
     {"llama-v3", kLlama3Pattern, false, true, true},
     {"falcon3", kLlama3Pattern, false, true, true},
     {"pixtral", kLlama3Pattern, false, true, true},
     {"midm-2.0", kLlama3Pattern, false, true, true},
     {"lfm2", kLlama3Pattern, false, true, true},
     {"dbrx", kLlama3Pattern},
     {"smaug-bpe", kLlama3Pattern},
     {"glm4", kLlama3Pattern},
     {"chatglm-bpe", kLlama3Pattern},
     {"qwen2", kQwen2Pattern},
     {"stablelm2", kQwen2Pattern},
     {"hunyuan", kQwen2Pattern},
     {"megrez", kQwen2Pattern},
     {"deepseek-r1-qwen", kQwen2Pattern},
     {"kormo", kQwen2Pattern},
     {"solar-open", kQwen2Pattern},
     {"qwen35", kQwen35Pattern},
     {"tekken", kTekkenPattern, false, true, true},
     {"gpt-4o", kGpt4oPattern},
     {"llama4", kGpt4oPattern}}};

Json split(const char* pattern) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

Json pre_tokenizer_json(const WordCutting& cutting) {
  Json stages = Json::array();
  if (cutting.cuts_digits) stages.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (cutting.pattern != nullptr) stages.push_back(split(cutting.pattern));
  stages.push_back({{"type", "ByteLevel"},
                    {"add_prefix_space", false},
                    {"trim_offsets", true},
                    {"use_regex", cutting.pattern == nullptr}});
  return {{"type", "Sequence"}, {"pretokenizers", std::move(stages)}};
}

/// Builds the files of a tokenizer from the metadata.
class TokenizerMetadata {
 public:
  TokenizerMetadata(const GgufHeader& header, std::string_view where)
      : header_(header), keys_(header.metadata, fmt::format("'{}'", where)) {
    read_tokens();
    bos_ = id("tokenizer.ggml.bos_token_id");
    eos_ = id("tokenizer.ggml.eos_token_id");
  }

  Json tokenizer_json() const {
    const std::string model = keys_.required_text("tokenizer.ggml.model");
    if (model == "gpt2") return byte_level_json();
    if (model == "llama") return sentencepiece_json();
    throw FormatError(
        "{}: the tokenizer '{}' in tokenizer.ggml.model is not supported (supported: "
        "gpt2, llama); pass token ids, or use the model's Hugging Face folder",
        keys_.where(), printable(model));
  }

  Json tokenizer_config_json() const {
    Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
    const auto name = [&](const char* role, std::optional<std::int32_t> token) {
      if (token) json[role] = tokens_[static_cast<std::size_t>(*token)].text;
    };
    name("bos_token", bos_);
    name("eos_token", eos_);
    name("unk_token", id("tokenizer.ggml.unknown_token_id"));
    name("pad_token", id("tokenizer.ggml.padding_token_id"));
    json["clean_up_tokenization_spaces"] = false;
    if (const auto chat = keys_.text("tokenizer.chat_template")) json["chat_template"] = *chat;
    return json;
  }

 private:
  const GgufArray& list(const char* key, GgufType type) const {
    const GgufArray* const found = header_.find_array(key);
    throw_if<FormatError>(found == nullptr || found->type != type,
                          "{}: the vocabulary needs the list '{}' of {}; use the model's Hugging "
                          "Face folder",
                          keys_.where(), key, type == GgufType::kString ? "strings" : "numbers");
    return *found;
  }

  /// Returns a list with a number for each token, or nothing if the file has none.
  std::vector<double> numbers(const char* key) const {
    const GgufArray* const found = header_.find_array(key);
    if (found == nullptr) return {};
    std::vector<double> numbers = found->numbers();
    throw_if<FormatError>(numbers.size() != tokens_.size(),
                          "{}: '{}' must have a number for each of {} tokens, got {}",
                          keys_.where(), key, tokens_.size(), numbers.size());
    return numbers;
  }

  void read_tokens() {
    for (const std::string_view text : list(kTokens, GgufType::kString).strings()) {
      const std::size_t id = tokens_.size();
      throw_if<FormatError>(first_invalid_utf8(text).has_value(),
                            "{}: token {} in '{}' must be UTF-8, got '{}'", keys_.where(), id,
                            kTokens, printable(text, 60));
      // llama.cpp names empty tokens, too, as two tokens cannot have one text.
      tokens_.push_back({.text = text.empty() ? fmt::format("[EMPTY_{}]", id) : std::string(text)});
    }
    const std::vector<double> types = numbers(kTypes);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool is_known = types[i] >= 1.0 && types[i] <= 6.0;
      tokens_[i].type = is_known ? static_cast<PieceType>(types[i]) : PieceType::kNormal;
    }
  }

  /// Returns the id of a token, if the vocabulary has it.
  std::optional<std::int32_t> id(const char* key) const {
    const auto id = keys_.integer(key);
    if (!id || *id < 0 || *id >= std::ssize(tokens_)) return std::nullopt;
    return static_cast<std::int32_t>(*id);
  }

  std::optional<std::int32_t> id_if(const char* flag, bool otherwise,
                                    std::optional<std::int32_t> id) const {
    return keys_.boolean(flag, otherwise) ? id : std::nullopt;
  }
  std::optional<std::int32_t> leading_id(bool otherwise) const {
    return id_if("tokenizer.ggml.add_bos_token", otherwise, bos_);
  }
  std::optional<std::int32_t> trailing_id() const {
    return id_if("tokenizer.ggml.add_eos_token", false, eos_);
  }

  std::optional<NamedToken> named(std::optional<std::int32_t> id) const {
    if (!id) return std::nullopt;
    return NamedToken{*id, tokens_[static_cast<std::size_t>(*id)].text};
  }

  const WordCutting& word_cutting() const {
    const std::string name = keys_.text(kPre).value_or("");
    const auto found = std::ranges::find(kWordCuttings, name, &WordCutting::name);
    if (found != kWordCuttings.end()) return *found;
    if (name.empty() || name == "default") {
      const std::string architecture = keys_.text("general.architecture").value_or("");
      if (architecture == "gpt2" || architecture == "gptneox") return kWordCuttings.front();
      throw FormatError(
          "{}: '{}' must name the pre-tokenizer, got none; "
          "convert the model again with a current llama.cpp, or use its Hugging Face "
          "folder",
          keys_.where(), kPre);
    }
    std::vector<std::string> names;
    for (const WordCutting& cutting : kWordCuttings) names.emplace_back(cutting.name);
    throw FormatError(
        "{}: unknown pre-tokenizer '{}' in {} (supported: {}); use the model's "
        "Hugging Face folder",
        keys_.where(), printable(name), kPre, join_words(names));
  }

  Json merges_json() const {
    Json merges = Json::array();
    for (const std::string_view merge : list(kMerges, GgufType::kString).strings()) {
      if (first_invalid_utf8(merge)) {
        throw FormatError("{}: merge {} in '{}' must be UTF-8, got '{}'", keys_.where(),
                          merges.size(), kMerges, printable(merge, 60));
      }
      merges.push_back(merge);
    }
    return merges;
  }

  Json byte_level_json() const {
    const WordCutting& cutting = word_cutting();
    Json::object_t vocabulary;
    Json added = Json::array();
    vocabulary.reserve(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto& [text, type, score] = tokens_[i];
      vocabulary.Container::emplace_back(text, i);
      if (type != PieceType::kControl && type != PieceType::kUserDefined) continue;
      Json token = special_token_json(static_cast<std::int32_t>(i), text);
      token["special"] = type == PieceType::kControl;
      added.push_back(std::move(token));
    }
    const Json byte_level = {
        {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}};
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", std::move(added)},
            {"normalizer", nullptr},
            {"pre_tokenizer", pre_tokenizer_json(cutting)},
            {"post_processor",
             template_json(named(leading_id(cutting.adds_bos)), named(trailing_id()))},
            {"decoder", byte_level},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", nullptr},
              {"end_of_word_suffix", nullptr},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"ignore_merges", cutting.words_in_vocabulary_first},
              {"vocab", std::move(vocabulary)},
              {"merges", merges_json()}}}};
  }

  Json sentencepiece_json() const {
    const std::vector<double> scores = numbers(kScores);
    const bool has_merges = header_.find_array(kMerges) != nullptr;
    throw_if<FormatError>(scores.empty() && !has_merges,
                          "{}: the vocabulary needs the list '{}' or '{}'; use the model's Hugging "
                          "Face folder",
                          keys_.where(), kScores, kMerges);
    const bool is_gemma = keys_.text("general.architecture").value_or("").starts_with("gemma");
    std::vector<VocabularyPiece> pieces = tokens_;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // Gemma's scores do not order its merges, its ids do; and its runs of spaces are spelt out.
      pieces[i].score = is_gemma || scores.empty() ? -static_cast<double>(i) : scores[i];
      if (!is_gemma || pieces[i].text.find_first_not_of(' ') != std::string::npos) continue;
      std::string marks;
      for (std::size_t k = 0; k < pieces[i].text.size(); ++k) marks += kSpaceMark;
      pieces[i].text = std::move(marks);
    }
    Json json = piece_tokenizer_json(
        pieces, {.bos_id = leading_id(true),
                 .eos_id = trailing_id(),
                 .add_space_prefix = keys_.boolean("tokenizer.ggml.add_space_prefix", !is_gemma)});
    if (has_merges) json["model"]["merges"] = merges_json();
    return json;
  }

  const GgufHeader& header_;
  KeyReader keys_;
  std::vector<VocabularyPiece> tokens_;
  std::optional<std::int32_t> bos_;
  std::optional<std::int32_t> eos_;
};

}  // namespace

std::map<std::string, std::string> gguf_tokenizer_files(const GgufHeader& header,
                                                        std::string_view where) {
  const TokenizerMetadata metadata(header, where);
  return {{"tokenizer.json", dump_json(metadata.tokenizer_json()) + "\n"},
          {"tokenizer_config.json", dump_json(metadata.tokenizer_config_json(), 2) + "\n"}};
}

std::unique_ptr<Tokenizer> read_gguf_tokenizer(const GgufHeader& header, std::string_view where) {
  const TokenizerMetadata metadata(header, where);
  const std::string place = fmt::format("'{}'", where);
  return parse_tokenizer_json(dump_json(metadata.tokenizer_json()) + "\n", place,
                              parse_tokenizer_config(metadata.tokenizer_config_json(), place));
}

}  // namespace lime

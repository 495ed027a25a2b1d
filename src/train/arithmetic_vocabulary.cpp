// SPDX-License-Identifier: Apache-2.0
#include "train/arithmetic_vocabulary.h"

#include <algorithm>
#include <charconv>

#include "core/errors.h"

namespace lime {
namespace {

constexpr std::string_view kEquals = "=";

Json special_token_json(std::int32_t id, const std::string& token) {
  return {{"id", id},        {"content", token},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

}  // namespace

ArithmeticVocabulary::ArithmeticVocabulary(const IntegerRange& range) : range_(range) {
  tokens_ = {"<pad>", "<s>", "</s>", std::string(kEquals), "(", ")"};
  for (const std::string_view token : kArithmeticOperationTokens) tokens_.emplace_back(token);
  first_integer_ = size();
  for (int value = range.min; value <= range.max; ++value) tokens_.push_back(std::to_string(value));
}

std::int32_t ArithmeticVocabulary::id_of(std::string_view token) const {
  int value = 0;
  const char* const end = token.data() + token.size();
  const auto parsed = std::from_chars(token.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end && range_.contains(value)) {
    return id_of_integer(value);
  }
  const auto first_integer = tokens_.begin() + first_integer_;
  const auto found = std::find(tokens_.begin(), first_integer, token);
  if (found == first_integer) {
    throw InvalidArgument(
        "arithmetic vocabulary: words must be integers from {} to {}, operations or brackets, got "
        "'{}'",
        range_.min, range_.max, token);
  }
  return static_cast<std::int32_t>(found - tokens_.begin());
}

std::int32_t ArithmeticVocabulary::id_of_integer(int value) const {
  if (!range_.contains(value)) {
    throw InvalidArgument("arithmetic vocabulary: integers must be from {} to {}, got {}",
                          range_.min, range_.max, value);
  }
  return first_integer_ + (value - range_.min);
}

std::vector<std::int32_t> ArithmeticVocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::size_t begin = text.find_first_not_of(' ');
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    ids.push_back(id_of(text.substr(begin, end - begin)));
    begin = text.find_first_not_of(' ', end);
  }
  return ids;
}

std::string ArithmeticVocabulary::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= size()) {
      throw InvalidArgument("arithmetic vocabulary: ids must be from 0 to {}, got {}", size() - 1,
                            id);
    }
    if (!text.empty()) text += ' ';
    text += tokens_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::vector<std::int32_t> ArithmeticVocabulary::prompt(
    const ArithmeticExpression& expression) const {
  std::vector<std::int32_t> ids = encode(expression.text());
  ids.insert(ids.begin(), kBos);
  ids.push_back(id_of(kEquals));
  return ids;
}

std::vector<std::int32_t> ArithmeticVocabulary::sequence(
    const ArithmeticExpression& expression) const {
  std::vector<std::int32_t> ids = encode(expression.solution());
  ids.insert(ids.begin(), kBos);
  ids.push_back(kEos);
  return ids;
}

std::optional<int> ArithmeticVocabulary::answer(std::span<const std::int32_t> written) const {
  const auto end = std::find(written.begin(), written.end(), kEos);
  const auto length = end - written.begin();
  if (end == written.end() || length == 0) return std::nullopt;
  const std::int32_t last = *(end - 1);
  // The prompt ends with `=`, so one token alone is an answer too.
  const bool after_equals = length == 1 || *(end - 2) == id_of(kEquals);
  if (!after_equals || last < first_integer_ || last >= size()) return std::nullopt;
  return range_.min + (last - first_integer_);
}

Json ArithmeticVocabulary::tokenizer_json() const {
  Json vocabulary = Json::object();
  for (std::int32_t id = 0; id < size(); ++id)
    vocabulary[tokens_[static_cast<std::size_t>(id)]] = id;
  Json added = Json::array();
  for (const std::int32_t id : {kPad, kBos, kEos}) {
    added.push_back(special_token_json(id, tokens_[static_cast<std::size_t>(id)]));
  }
  const std::string& bos = tokens_[kBos];
  const Json bos_piece = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const Json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", Json::array({bos_piece, first})},
            {"pair", Json::array({bos_piece, first, second})},
            {"special_tokens", {{bos, {{"id", bos}, {"ids", {kBos}}, {"tokens", {bos}}}}}}}},
          {"decoder", nullptr},
          {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unk>"}}}};
}

Json ArithmeticVocabulary::tokenizer_config_json() const {
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"bos_token", tokens_[kBos]},
          {"eos_token", tokens_[kEos]},
          {"pad_token", tokens_[kPad]},
          {"clean_up_tokenization_spaces", false},
          {"add_bos_token", true},
          {"add_eos_token", false}};
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/word_vocabulary.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "train/text/tokenizer_files.h"

namespace lime {
namespace {

std::vector<std::string> words_of(const IntegerRange& range) {
  std::vector<std::string> words = {"=", "(", ")"};
  for (const std::string_view token : kArithmeticOperationTokens) words.emplace_back(token);
  for (int value = range.min; value <= range.max; ++value) words.push_back(std::to_string(value));
  return words;
}

}  // namespace

WordVocabulary::WordVocabulary(std::string name, std::string kinds,
                               std::span<const std::string> words)
    : name_(std::move(name)), kinds_(std::move(kinds)), tokens_{"<pad>", "<s>", "</s>"} {
  tokens_.insert(tokens_.end(), words.begin(), words.end());
  for (const std::string& token : tokens_) {
    ids_.emplace(token, static_cast<std::int32_t>(ids_.size()));
  }
}

std::int32_t WordVocabulary::id_of(std::string_view word) const {
  const auto found = ids_.find(std::string(word));
  if (found != ids_.end()) return found->second;
  throw InvalidArgument("{}: words must be {}, got '{}'", name_, kinds_, word);
}

std::vector<std::int32_t> WordVocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::size_t begin = text.find_first_not_of(' ');
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    ids.push_back(id_of(text.substr(begin, end - begin)));
    begin = text.find_first_not_of(' ', end);
  }
  return ids;
}

std::string WordVocabulary::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    throw_if(id < 0 || id >= size(), "{}: ids must be from 0 to {}, got {}", name_, size() - 1, id);
    if (!text.empty()) text += ' ';
    text += tokens_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::map<std::string, std::string> WordVocabulary::files() const {
  Json vocabulary = Json::object();
  for (const std::string& token : tokens_) {
    const std::size_t id = vocabulary.size();
    vocabulary[token] = id;
  }
  Json added = Json::array();
  for (const std::int32_t id : {kPad, kBos, kEos}) {
    added.push_back(special_token_json(id, tokens_[static_cast<std::size_t>(id)]));
  }
  const Json tokenizer = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"post_processor", template_json(NamedToken{kBos, tokens_[kBos]}, std::nullopt)},
      {"decoder", nullptr},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unk>"}}}};
  const Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"bos_token", tokens_[kBos]},
                       {"eos_token", tokens_[kEos]},
                       {"pad_token", tokens_[kPad]},
                       {"clean_up_tokenization_spaces", false},
                       {"add_bos_token", true},
                       {"add_eos_token", false}};
  return {{"tokenizer.json", tokenizer.dump(2) + "\n"},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

ArithmeticVocabulary::ArithmeticVocabulary(const IntegerRange& range)
    : WordVocabulary(
          "arithmetic vocabulary",
          fmt::format("integers from {} to {}, operations or brackets", range.min, range.max),
          words_of(range)),
      range_(range),
      equals_(id_of("=")),
      first_integer_(id_of(std::to_string(range.min))) {}

std::vector<std::int32_t> ArithmeticVocabulary::prompt(
    const ArithmeticExpression& expression) const {
  std::vector<std::int32_t> ids = encode(expression.text());
  ids.insert(ids.begin(), kBos);
  ids.push_back(equals_);
  return ids;
}

std::vector<std::int32_t> ArithmeticVocabulary::sequence(
    const ArithmeticExpression& expression) const {
  std::vector<std::int32_t> ids = encode(expression.solution(range_.modulus));
  ids.insert(ids.begin(), kBos);
  ids.push_back(kEos);
  return ids;
}

std::optional<int> ArithmeticVocabulary::answer(std::span<const std::int32_t> written) const {
  const auto end = std::ranges::find(written, kEos);
  const auto length = end - written.begin();
  if (end == written.end() || length == 0) return std::nullopt;
  const std::int32_t last = *(end - 1);
  // The prompt ends with `=`, so a single token is also an answer.
  const bool after_equals = length == 1 || *(end - 2) == equals_;
  if (!after_equals || last < first_integer_ || last >= size()) return std::nullopt;
  return range_.min + (last - first_integer_);
}

}  // namespace lime

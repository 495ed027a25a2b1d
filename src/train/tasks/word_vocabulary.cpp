// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/word_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/errors.h"

namespace lime {

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

}  // namespace lime

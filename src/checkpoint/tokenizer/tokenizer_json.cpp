// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <utility>

#include "checkpoint/tokenizer/hugging_face_tokenizer.h"
#include "checkpoint/tokenizer/models/bpe_model.h"
#include "checkpoint/tokenizer/models/unigram_model.h"
#include "checkpoint/tokenizer/models/word_piece_model.h"
#include "core/errors.h"
#include "core/files/sha256.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Contains a JSON file whose vocabulary, an object of token to id, is stored separately: hundreds
/// of thousands of members would be slow in the tree, and duplicates would go unnoticed.
struct VocabularyJson {
  Json rest;  ///< the file with an empty object in the vocabulary's place; a list stays in it
  std::vector<std::pair<std::string, std::int32_t>> entries;
};

/// Follows the parser through the file and extracts the vocabulary's members.
class VocabularyFilter {
 public:
  VocabularyFilter(const std::vector<std::string_view>& member_path, std::string where,
                   VocabularyJson& result)
      : member_path_(member_path), where_(std::move(where)), result_(result) {}

  /// @return whether the parser keeps what it is at.
  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::key && !in_list_) {
      const auto& name = value.get_ref<const std::string&>();
      keys_.resize(std::max(keys_.size(), level));
      keys_[level - 1] = name;
      return !is_member(level);
    }
    if (is_vocabulary(level) && (event == Event::array_start || event == Event::array_end)) {
      in_list_ = event == Event::array_start;
    }
    if (in_list_) return true;
    if (!is_member(level)) return true;
    const std::string& token = keys_[level - 1];
    if (event == Event::object_start || event == Event::array_start) {
      throw FormatError("{}: id of '{}' must be an integer, got an {}", where_, printable(token),
                        event == Event::object_start ? "object" : "array");
    }
    if (event == Event::value) {
      const std::int32_t id =
          read_token_id(value, fmt::format("{}: id of '{}'", where_, printable(token)));
      result_.entries.emplace_back(token, id);
    }
    return true;
  }

 private:
  /// Whether a key or value at this depth is a member of the vocabulary.
  bool is_member(std::size_t level) const {
    return level == member_path_.size() + 1 && keys_.size() >= level && keys_match();
  }

  /// Whether a value at this depth is the vocabulary itself.
  bool is_vocabulary(std::size_t level) const {
    return level == member_path_.size() && keys_.size() >= level && keys_match();
  }

  bool keys_match() const {
    return std::equal(member_path_.begin(), member_path_.end(), keys_.begin());
  }

  std::vector<std::string_view> member_path_;
  std::string where_;
  VocabularyJson& result_;
  bool in_list_ = false;
  std::vector<std::string> keys_;  // the keys that lead to where the parser is
};

/// @param member_path  where the vocabulary is: {"model", "vocab"}, or {} for the whole file.
VocabularyJson parse_vocabulary_json(std::string_view content, const std::string& where,
                                     const std::vector<std::string_view>& member_path) {
  VocabularyJson result;
  std::string vocabulary = where;
  for (std::size_t i = 0; i < member_path.size(); ++i) {
    vocabulary += (i == 0 ? ": " : ".") + std::string(member_path[i]);
  }
  VocabularyFilter filter(member_path, vocabulary, result);
  result.rest = parse_json(content, where, [&](int depth, Json::parse_event_t event, Json& value) {
    return filter(depth, event, value);
  });
  return result;
}

BpeModel::MergePair read_merge(const Json& merge, const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  throw FormatError("{} must be two tokens, as \"a b\" or [\"a\", \"b\"], got {}", where,
                    printable(merge.dump()));
}

/// The tokens and log probabilities of a Unigram model, a list of pairs.
void read_unigram(const KeyReader& model, TokenizerParts& parts) {
  parts.unigram = UnigramOptions{.byte_fallback = model.boolean("byte_fallback", false)};
  if (const Json* const id = model.find("unk_id")) {
    parts.unigram->unknown_id = read_token_id(*id, model.place("unk_id"));
  }
  for (const Json& piece : model.required_array("vocab")) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
      throw FormatError("{} must have pairs of a token and its log probability, got {}",
                        model.place("vocab"), printable(piece.dump(), 120));
    }
    parts.vocabulary.emplace_back(piece[0].get<std::string>(),
                                  static_cast<std::int32_t>(parts.scores.size()));
    parts.scores.push_back(piece[1].get<double>());
  }
}

void read_word_piece(const KeyReader& model, TokenizerParts& parts) {
  WordPieceOptions options;
  options.unknown_token = model.text("unk_token").value_or(options.unknown_token);
  options.continuing_subword_prefix =
      model.text("continuing_subword_prefix").value_or(options.continuing_subword_prefix);
  options.max_input_chars_per_word = static_cast<std::size_t>(
      std::max<std::int64_t>(0, model.integer("max_input_chars_per_word").value_or(100)));
  parts.word_piece = std::move(options);
}

void read_bpe(const KeyReader& model, TokenizerParts& parts) {
  const Json* dropout = model.find("dropout");
  throw_if<FormatError>(
      dropout != nullptr && !(dropout->is_number() && dropout->get<double>() == 0.0),
      "{} is not supported; remove it to encode deterministically", model.place("dropout"));
  const auto mark = [&](std::string_view key) { return model.text(key).value_or(""); };
  parts.model.continuing_subword_prefix = mark("continuing_subword_prefix");
  parts.model.end_of_word_suffix = mark("end_of_word_suffix");
  parts.model.byte_fallback = model.boolean("byte_fallback", false);
  parts.model.fuse_unknown = model.boolean("fuse_unk", false);
  parts.model.ignore_merges = model.boolean("ignore_merges", false);
  for (const Json& merge : model.required_array("merges")) {
    parts.merges.push_back(
        read_merge(merge, fmt::format("{}: merge {}", model.where(), parts.merges.size())));
  }
}

void read_model(const KeyReader& model, TokenizerParts& parts) {
  const std::string type = model.text("type").value_or("BPE");
  if (type == "Unigram") return read_unigram(model, parts);
  throw_if<FormatError>(
      type != "BPE" && type != "WordLevel" && type != "WordPiece",
      "{}: type '{}' is not supported (supported: BPE, Unigram, WordLevel, WordPiece)",
      model.where(), type);
  throw_if<FormatError>(!model.required("vocab").is_object(), "{} must be an object",
                        model.place("vocab"));
  if (type == "WordPiece") return read_word_piece(model, parts);
  parts.model.unknown_token = model.text("unk_token");
  parts.model.whole_words = type == "WordLevel";
  if (type == "BPE") read_bpe(model, parts);
}

/// One side of a TemplateProcessing: the ids of the special tokens before and after the text.
void read_template(const KeyReader& fields, TokenizerParts& parts) {
  const KeyReader special = fields.required_object("special_tokens");
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;
  bool text_seen = false;
  for (const Json& entry : fields.required_array("single")) {
    const KeyReader piece(entry, fields.place("single"), KeyStyle::kDotted);
    if (piece.find("Sequence") != nullptr) {
      if (text_seen) throw FormatError("{} must contain the text exactly once", piece.where());
      text_seen = true;
      continue;
    }
    const KeyReader reference = piece.required_object("SpecialToken");
    const std::string name = reference.required_text("id");
    const KeyReader token = special.required_object(name);
    for (const Json& id : token.required_array("ids")) {
      (text_seen ? after : before).push_back(read_token_id(id, token.place("ids")));
    }
  }
  if (!text_seen)
    throw FormatError("{} must contain the text exactly once", fields.place("single"));
  // A later template encloses an earlier one.
  parts.prefix_ids.insert(parts.prefix_ids.begin(), before.begin(), before.end());
  parts.suffix_ids.insert(parts.suffix_ids.end(), after.begin(), after.end());
}

/// The id of a token that is written as ["[CLS]", 101].
std::int32_t read_pair_id(const KeyReader& fields, std::string_view key) {
  const Json& pair = fields.required_array(key);
  if (pair.size() != 2) throw FormatError("{} must be a token and its id", fields.place(key));
  return read_token_id(pair[1], fields.place(key));
}

void read_post_processor(const Json& definition, const std::string& where, TokenizerParts& parts) {
  if (definition.is_null()) return;
  const KeyReader fields(definition, where, KeyStyle::kDotted);
  const std::string type = fields.required_text("type");
  if (type == "Sequence") {
    for (const Json& part : fields.required_array("processors"))
      read_post_processor(part, where, parts);
  } else if (type == "TemplateProcessing") {
    read_template(fields, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.prefix_ids.insert(parts.prefix_ids.begin(), read_pair_id(fields, "cls"));
    parts.suffix_ids.push_back(read_pair_id(fields, "sep"));
  } else if (type != "ByteLevel") {  // ByteLevel only moves offsets
    throw FormatError("{}: type '{}' is not supported", where, type);
  }
}

void read_added_tokens(const KeyReader& file, TokenizerParts& parts) {
  if (file.find("added_tokens") == nullptr) return;
  for (const Json& entry : file.required_array("added_tokens")) {
    const KeyReader fields(entry, file.place("added_tokens"), KeyStyle::kDotted);
    AddedToken token = read_added_token(fields);
    token.id = read_token_id(fields.required("id"), fields.place("id"));
    parts.added_tokens.push_back(std::move(token));
  }
}

/// Adds what the files beside the tokenizer's call special and the tokenizer itself does not.
void add_special_tokens(const SpecialTokens& special, TokenizerParts& parts) {
  const auto is_added = [&](const std::string& content) {
    return std::ranges::any_of(parts.added_tokens,
                               [&](const AddedToken& token) { return token.content == content; });
  };
  const auto id_in_vocabulary = [&](const std::string& content) -> std::optional<std::int32_t> {
    const auto found = std::ranges::find_if(
        parts.vocabulary, [&](const auto& entry) { return entry.first == content; });
    if (found == parts.vocabulary.end()) return std::nullopt;
    return found->second;
  };
  for (AddedToken token : special.added) {
    if (is_added(token.content)) continue;
    token.id = id_in_vocabulary(token.content).value_or(token.id);
    const auto& names = special.names;
    if (std::ranges::find(names, token.content) != names.end()) token.special = true;
    parts.added_tokens.push_back(std::move(token));
  }
  for (const std::string& name : special.names) {
    if (is_added(name)) continue;
    if (const auto id = id_in_vocabulary(name)) {
      parts.added_tokens.push_back(
          {.content = name, .id = *id, .special = true, .normalized = false});
    }
  }
}

void resolve_ends(const SpecialTokens& special, TokenizerParts& parts) {
  parts.split_special_tokens = special.split_special_tokens;
  std::int32_t vocab_size = 0;
  for (const auto& [token, id] : parts.vocabulary) vocab_size = std::max(vocab_size, id + 1);
  for (const AddedToken& token : parts.added_tokens)
    vocab_size = std::max(vocab_size, token.id + 1);
  const auto find = [&](std::string_view name) -> std::optional<std::int32_t> {
    for (const AddedToken& token : parts.added_tokens) {
      if (token.content == name) return token.id;
    }
    return std::nullopt;  // every name that the vocabulary has is an added token by now
  };
  parts.bos_id = special.bos_id(find, vocab_size);
  parts.eos_id = special.eos_id(find, vocab_size);
}

std::vector<BpeModel::MergePair> read_merges_txt(const fs::path& path) {
  const MappedFile file(path);
  std::vector<BpeModel::MergePair> merges;
  std::string_view rest = file.text();
  for (std::size_t line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version") || line.empty()) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw FormatError("'{}': line {} must be two tokens with a space between them, got '{}'",
                        path.string(), line_number, printable(line));
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer_json(const fs::path& path, const SpecialTokens& special) {
  const MappedFile file(path);
  refuse_lfs_pointer(file.text(), path.string());
  return parse_tokenizer_json(file.text(), "'" + path.string() + "'", special);
}

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view content, std::string_view where,
                                                const SpecialTokens& special) {
  TokenizerParts parts;
  parts.where = std::string(where);
  VocabularyJson json = parse_vocabulary_json(content, parts.where, {"model", "vocab"});
  const KeyReader file(json.rest, parts.where, KeyStyle::kDotted);
  const auto component = [&](std::string_view name) {
    const Json* definition = file.find(name);
    return definition == nullptr ? Json() : *definition;
  };
  const auto named = [&](std::string_view name) {
    return fmt::format("{}: {}", parts.where, name);
  };
  parts.vocabulary = std::move(json.entries);
  read_model(KeyReader(file.required("model"), named("model"), KeyStyle::kDotted), parts);
  parts.normalizer = Normalizer(component("normalizer"), named("normalizer"));
  parts.pre_tokenizer = PreTokenizer(component("pre_tokenizer"), named("pre_tokenizer"));
  parts.decoder = TokenDecoder(component("decoder"), named("decoder"));
  parts.model.byte_level = parts.pre_tokenizer.is_byte_level();
  read_post_processor(component("post_processor"), named("post_processor"), parts);
  read_added_tokens(file, parts);
  add_special_tokens(special, parts);
  resolve_ends(special, parts);
  parts.sha256 = sha256_of(content);
  return make_hugging_face_tokenizer(std::move(parts));
}

std::unique_ptr<Tokenizer> read_gpt2_files(const fs::path& vocab_json, const fs::path& merges_txt,
                                           const SpecialTokens& special) {
  TokenizerParts parts;
  parts.where = "'" + vocab_json.string() + "'";
  const MappedFile file(vocab_json);
  refuse_lfs_pointer(file.text(), vocab_json.string());
  VocabularyJson json = parse_vocabulary_json(file.text(), parts.where, {});
  if (!json.rest.is_object()) throw FormatError("{} must be an object", parts.where);
  parts.vocabulary = std::move(json.entries);
  parts.merges = read_merges_txt(merges_txt);
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", special.add_prefix_space.value_or(false)}};
  parts.pre_tokenizer = PreTokenizer(byte_level, parts.where);
  parts.decoder = TokenDecoder(byte_level, parts.where);
  parts.model.byte_level = true;
  // GPT-2's files do not define it: one token begins and ends a text.
  SpecialTokens completed = special;
  constexpr const char* kEndOfText = "<|endoftext|>";
  if (!completed.bos) completed.bos = kEndOfText;
  if (!completed.eos) completed.eos = kEndOfText;
  for (const auto& name : {*completed.bos, *completed.eos}) completed.names.push_back(name);
  add_special_tokens(completed, parts);
  resolve_ends(completed, parts);
  if (special.add_bos.value_or(false) && parts.bos_id) parts.prefix_ids = {*parts.bos_id};
  if (special.add_eos.value_or(false) && parts.eos_id) parts.suffix_ids = {*parts.eos_id};
  parts.sha256 = sha256_of(sha256_of_file(vocab_json) + sha256_of_file(merges_txt));
  return make_hugging_face_tokenizer(std::move(parts));
}

}  // namespace lime

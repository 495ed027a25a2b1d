// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/piece_tokenizer_json.h"

#include <algorithm>
#include <unordered_set>

#include "checkpoint/tokenizer/unicode.h"

namespace lime {
namespace {

constexpr const char* kSpaceMark = "\u2581";

/// Returns true for the pieces that a text can be cut into.
bool is_learned(const VocabularyPiece& piece) {
  return piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
}

Json merges_of(const std::vector<VocabularyPiece>& pieces) {
  std::unordered_set<std::string_view> learned;
  std::vector<const VocabularyPiece*> order;
  for (const VocabularyPiece& piece : pieces) {
    if (!is_learned(piece)) continue;
    learned.insert(piece.text);
    order.push_back(&piece);
  }
  std::ranges::stable_sort(order, std::ranges::greater(), &VocabularyPiece::score);
  Json merges = Json::array();
  for (const VocabularyPiece* const piece : order) {
    const std::string_view text = piece->text;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      if (is_continuation(text[cut])) continue;
      const std::string_view left = text.substr(0, cut);
      const std::string_view right = text.substr(cut);
      if (!learned.contains(left) || !learned.contains(right)) continue;
      merges.push_back(std::string(left) + ' ' + std::string(right));
    }
  }
  return merges;
}

Json bpe_json(const std::vector<VocabularyPiece>& pieces) {
  const auto unknown = std::ranges::find(pieces, PieceType::kUnknown, &VocabularyPiece::type);
  Json::object_t vocabulary;  // a list of members, since the object searches its keys one by one
  vocabulary.reserve(pieces.size());
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    vocabulary.Container::emplace_back(pieces[id].text, id);
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown == pieces.end() ? Json() : Json(unknown->text)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", true},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", merges_of(pieces)}};
}

Json added_tokens_json(const std::vector<VocabularyPiece>& pieces) {
  Json tokens = Json::array();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const PieceType type = pieces[id].type;
    const bool is_special = type == PieceType::kControl || type == PieceType::kUnknown;
    if (!is_special && type != PieceType::kUserDefined) continue;
    Json token = special_token_json(static_cast<std::int32_t>(id), pieces[id].text);
    token["special"] = is_special;
    token["normalized"] = !is_special;  // pieces that a text contains have U+2581 for spaces
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Json replace(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

Json normalizer_json(bool add_space_prefix) {
  const Json spaces = replace(" ", kSpaceMark);
  if (!add_space_prefix) return spaces;
  const Json prepend = {{"type", "Prepend"}, {"prepend", kSpaceMark}};
  return {{"type", "Sequence"}, {"normalizers", Json::array({prepend, spaces})}};
}

Json decoder_json(bool add_space_prefix) {
  Json decoders =
      Json::array({replace(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (add_space_prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
}

}  // namespace

Json piece_tokenizer_json(const std::vector<VocabularyPiece>& pieces,
                          const PieceTokenizerOptions& options) {
  const auto named = [&](std::optional<std::int32_t> id) -> std::optional<NamedToken> {
    if (!id) return std::nullopt;
    return NamedToken{*id, pieces.at(static_cast<std::size_t>(*id)).text};
  };
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens_json(pieces)},
          {"normalizer", normalizer_json(options.add_space_prefix)},
          {"pre_tokenizer", nullptr},
          {"post_processor", template_json(named(options.bos_id), named(options.eos_id))},
          {"decoder", decoder_json(options.add_space_prefix)},
          {"model", bpe_json(pieces)}};
}

Json special_token_json(std::int32_t id, std::string_view token) {
  return {{"id", id},        {"content", token},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json template_json(const std::optional<NamedToken>& before,
                   const std::optional<NamedToken>& after) {
  const auto sequence = [](const char* name, int type) -> Json {
    return {{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  Json single = Json::array();
  Json pair = Json::array();
  Json special = Json::object();
  const auto add = [&](const std::optional<NamedToken>& token) {
    if (!token) return;
    const auto& [id, text] = *token;
    const Json piece = {{"SpecialToken", {{"id", text}, {"type_id", 0}}}};
    single.push_back(piece);
    pair.push_back(piece);
    special[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", {text}}};
  };
  add(before);
  single.push_back(sequence("A", 0));
  pair.push_back(sequence("A", 0));
  pair.push_back(sequence("B", 1));
  add(after);
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(special)}};
}

}  // namespace lime

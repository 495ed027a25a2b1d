// SPDX-License-Identifier: Apache-2.0
#include "train/text/sentencepiece_json.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lime {
namespace {

constexpr const char* kSpaceMark = "\u2581";

bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

bool is_learned(const SentencePieceModel& model, std::int32_t id) {
  return !model.is_control(id) && !model.is_unknown(id) && !model.is_byte(id);
}

bool is_learned(const SentencePieceModel& model, std::string_view piece) {
  return is_learned(model, model.id_of(piece));
}

Json merges_of(const SentencePieceModel& model) {
  Json merges = Json::array();
  for (std::int32_t id = 0; id < model.num_pieces(); ++id) {
    if (!is_learned(model, id)) continue;
    const std::string_view piece = model.piece(id);
    for (std::size_t cut = 1; cut < piece.size(); ++cut) {
      const std::string_view left = piece.substr(0, cut);
      const std::string_view right = piece.substr(cut);
      if (is_inside_character(right.front())) continue;
      if (!is_learned(model, left) || !is_learned(model, right)) continue;
      merges.push_back(std::string(left) + ' ' + std::string(right));
    }
  }
  return merges;
}

Json bpe_json(const SentencePieceModel& model) {
  Json vocabulary = Json::object();
  for (std::int32_t id = 0; id < model.num_pieces(); ++id) vocabulary[model.piece(id)] = id;
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", "<unk>"},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", true},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", merges_of(model)}};
}

Json special_tokens_json(const SentencePieceModel& model) {
  Json tokens = Json::array();
  for (std::int32_t id = 0; id < model.num_pieces(); ++id) {
    if (!model.is_control(id) && !model.is_unknown(id)) continue;
    tokens.push_back({{"id", id},
                      {"content", model.piece(id)},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

Json bos_template(const SentencePieceModel& model) {
  const std::string& bos = model.piece(model.bos_id());
  const Json bos_piece = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const Json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({bos_piece, first})},
          {"pair", Json::array({bos_piece, first, second})},
          {"special_tokens",
           {{bos, {{"id", bos}, {"ids", Json::array({model.bos_id()})}, {"tokens", {bos}}}}}}};
}

Json replace(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

}  // namespace

Json tokenizer_json_of(const SentencePieceModel& model) {
  const Json prepend = {{"type", "Prepend"}, {"prepend", kSpaceMark}};
  const Json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", special_tokens_json(model)},
      {"normalizer",
       {{"type", "Sequence"}, {"normalizers", Json::array({prepend, replace(" ", kSpaceMark)})}}},
      {"pre_tokenizer", nullptr},
      {"post_processor", bos_template(model)},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         Json::array(
             {replace(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip})}}},
      {"model", bpe_json(model)}};
}

}  // namespace lime

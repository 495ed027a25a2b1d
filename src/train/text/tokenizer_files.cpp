// SPDX-License-Identifier: Apache-2.0
#include "train/text/tokenizer_files.h"

#include "checkpoint/families/family.h"
#include "core/files/atomic_file.h"
#include "core/files/sha256.h"

namespace lime {

std::map<std::string, std::string> tokenizer_files(const std::filesystem::path& folder) {
  const std::filesystem::path place = find_tokenizer(folder).folder;
  std::map<std::string, std::string> files;
  for (const char* const name :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json"}) {
    if (std::filesystem::is_regular_file(place / name)) {
      files[name] = std::string(MappedFile(place / name).text());
    }
  }
  return files;
}

std::map<std::string, std::string> files_for_transformers(std::map<std::string, std::string> files,
                                                          const std::string& family) {
  constexpr const char* kConfig = "tokenizer_config.json";
  const auto config = files.find(kConfig);
  const Family* const known = find_family(family);
  if (known == nullptr || known->assumed_tokenizer.empty() || config == files.end()) return files;
  Json json = parse_json(config->second, kConfig);
  const auto tokenizer_class = json.find("tokenizer_class");
  const bool is_assumed = tokenizer_class != json.end() && tokenizer_class->is_string() &&
                          tokenizer_class->get<std::string>().starts_with(known->assumed_tokenizer);
  if (is_assumed || tokenizer_class == json.end() || json.contains("auto_map")) return files;
  json["auto_map"] = {{"AutoTokenizer", Json::array({nullptr, nullptr})}};
  config->second = json.dump(2) + "\n";
  return files;
}

Json special_token_json(std::int32_t id, const std::string& token) {
  return {{"id", id},        {"content", token},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json bos_template_json(std::int32_t id, const std::string& token) {
  const Json bos_piece = {{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  const Json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({bos_piece, first})},
          {"pair", Json::array({bos_piece, first, second})},
          {"special_tokens",
           {{token, {{"id", token}, {"ids", Json::array({id})}, {"tokens", {token}}}}}}};
}

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
    tokens.push_back(special_token_json(id, model.piece(id)));
  }
  return tokens;
}

Json replace(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

namespace fs = std::filesystem;

constexpr const char* kTrainingFile = "tokenizer_training.json";

Json describe_training(const TextSource& source, std::int64_t vocab_size) {
  Json files = Json::array();
  for (const fs::path& file : source.files) files.push_back(sha256_of_file(file));
  return {{"schema", "lime-tokenizer-training/2"},
          {"vocab_size", vocab_size},
          {"validation_share", source.validation_fraction},
          {"text_sha256", files}};
}

std::string training_text(const TextSource& source) {
  std::string all;
  for (const fs::path& file : source.files) {
    visit_documents(file, source.validation_fraction, [&](TextSplit split, std::string_view text) {
      if (split == TextSplit::kTraining) all.append(text).push_back('\n');
    });
  }
  return all;
}

/// Returns the configuration with which transformers reads tokenizer.json as it is. A special token
/// that is spelled out in a text is ordinary text, as in SentencePiece.
Json tokenizer_config() {
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"bos_token", "<s>"},
          {"eos_token", "</s>"},
          {"unk_token", "<unk>"},
          {"add_bos_token", true},
          {"add_eos_token", false},
          {"clean_up_tokenization_spaces", false},
          {"split_special_tokens", true}};
}

/// Returns the tokenizer.json that gives the ids of a model of train_sentencepiece_model(), with
/// BOS before every text, for transformers, which converts a tokenizer.model differently from
/// version to version.
///
/// SentencePiece joins the neighbours whose joint piece was learned first. Pieces are numbered in
/// that order, so a piece's merges are all its splits into two pieces, ordered by its id.
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
      {"post_processor", bos_template_json(model.bos_id(), model.piece(model.bos_id()))},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         Json::array(
             {replace(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip})}}},
      {"model", bpe_json(model)}};
}

}  // namespace

fs::path trained_tokenizer(const TextSource& source, std::int64_t vocab_size,
                           const fs::path& folder) {
  const fs::path description_path = folder / kTrainingFile;
  // As it comes back from a file: names of files need not be UTF-8.
  const Json description =
      parse_json(dump_json(describe_training(source, vocab_size)), kTrainingFile);
  if (fs::exists(description_path) && read_json_file(description_path) == description) {
    return folder;
  }
  const std::string text = training_text(source);
  throw_if(is_blank(text), "text: the training part of '{}'{} must contain text, got none",
           source.files.front().string(), source.files.size() > 1 ? " and the others" : "");
  std::size_t begin = 0;
  const auto next_line = [&]() -> std::optional<std::string_view> {
    if (begin >= text.size()) return std::nullopt;
    const std::size_t end = text.find('\n', begin);
    const auto line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    return line;
  };
  const std::string model =
      train_sentencepiece_model(static_cast<std::int32_t>(vocab_size), next_line);
  make_folder(folder);
  // The description must not outlive the files it describes.
  fs::remove(description_path);
  write_file_atomically(folder / "tokenizer.model", model);
  const Json json = tokenizer_json_of(*parse_sentencepiece_model(model));
  write_file_atomically(folder / "tokenizer.json", json.dump() + "\n");
  write_file_atomically(folder / "tokenizer_config.json", tokenizer_config().dump(2) + "\n");
  write_file_atomically(description_path, description.dump(2) + "\n");
  return folder;
}

}  // namespace lime

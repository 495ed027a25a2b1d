// SPDX-License-Identifier: Apache-2.0
#include "train/text/tokenizer_files.h"

#include "checkpoint/families/family.h"
#include "core/files/atomic_file.h"
#include "core/files/sha256.h"

namespace lime {

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

namespace {

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

/// Returns the pieces of a model of train_sentencepiece_model(), which numbers them in the order in
/// which they were learned.
std::vector<VocabularyPiece> pieces_of(const SentencePieceModel& model) {
  std::vector<VocabularyPiece> pieces;
  for (std::int32_t id = 0; id < model.num_pieces(); ++id) {
    const PieceType type = model.is_control(id)   ? PieceType::kControl
                           : model.is_unknown(id) ? PieceType::kUnknown
                           : model.is_byte(id)    ? PieceType::kByte
                                                  : PieceType::kNormal;
    pieces.push_back({.text = model.piece(id), .type = type, .score = -static_cast<double>(id)});
  }
  return pieces;
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
  throw_if(is_blank(text), OptionName("text"),
           "the training part of '{}'{} must contain text, got none", source.files.front().string(),
           source.files.size() > 1 ? " and the others" : "");
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
  // For transformers, which converts a tokenizer.model differently from version to version.
  const auto trained = parse_sentencepiece_model(model);
  const Json json = piece_tokenizer_json(pieces_of(*trained), {.bos_id = trained->bos_id()});
  write_file_atomically(folder / "tokenizer.json", json.dump() + "\n");
  write_file_atomically(folder / "tokenizer_config.json", tokenizer_config().dump(2) + "\n");
  write_file_atomically(description_path, description.dump(2) + "\n");
  return folder;
}

}  // namespace lime

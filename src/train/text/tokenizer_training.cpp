// SPDX-License-Identifier: Apache-2.0
#include "train/text/tokenizer_training.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "core/files/sha256.h"
#include "core/json.h"
#include "train/text/sentencepiece_json.h"
#include "train/text/text_documents.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainingFile = "tokenizer_training.json";

Json describe_training(const TextSource& source, std::int64_t vocab_size) {
  Json files = Json::array();
  for (const fs::path& file : source.files) files.push_back(sha256_of_file(file));
  return {{"schema", "lime-tokenizer-training/2"},
          {"vocab_size", vocab_size},
          {"validation_share", source.validation_share},
          {"text_sha256", files}};
}

/// Concatenates the training documents, each followed by a line end.
std::string training_text(const TextSource& source) {
  std::string all;
  for (const fs::path& file : source.files) {
    visit_documents(file, source.validation_share, [&](TextSplit split, std::string_view text) {
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

}  // namespace

fs::path trained_tokenizer(const TextSource& source, std::int64_t vocab_size,
                           const fs::path& folder) {
  const fs::path description_path = folder / kTrainingFile;
  const Json description = describe_training(source, vocab_size);
  if (fs::exists(description_path) && read_json_file(description_path) == description) {
    return folder;
  }
  const std::string text = training_text(source);
  if (is_blank(text)) {
    throw InvalidArgument("text: the training part of '{}'{} must contain text, got none",
                          source.files.front().string(),
                          source.files.size() > 1 ? " and the others" : "");
  }
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

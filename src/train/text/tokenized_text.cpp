// SPDX-License-Identifier: Apache-2.0
#include "train/text/tokenized_text.h"

#include <algorithm>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/sha256.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Removes and returns the first line of `text`, including its line end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string document_of_line(std::string_view line, const std::string& where) {
  const Json json = parse_json(line, where);
  const auto text = json.is_object() ? json.find("text") : json.end();
  throw_if<FormatError>(text == json.end() || !text->is_string(),
                        "{}: must be an object with a string \"text\", got {}", where,
                        json.is_object() ? "an object without one" : json.type_name());
  return text->get<std::string>();
}

/// @param held_out  number of bytes at the end of `content` for validation, whole lines.
void visit_lines(const fs::path& file, std::string_view content, std::size_t held_out,
                 const DocumentVisitor& visit) {
  for (std::int64_t number = 1; !content.empty(); ++number) {
    const TextSplit split =
        content.size() > held_out ? TextSplit::kTraining : TextSplit::kValidation;
    const std::string_view line = take_line(content);
    if (is_blank(line)) continue;
    visit(split, document_of_line(line, fmt::format("'{}', line {}", file.string(), number)));
  }
}

/// Returns the beginning of the validation text, after a line end.
std::size_t held_out_begin(std::string_view text, double validation_fraction) {
  if (validation_fraction <= 0.0) return text.size();
  const auto begin =
      static_cast<std::size_t>(static_cast<double>(text.size()) * (1.0 - validation_fraction));
  if (begin == 0) return 0;
  const std::size_t end_of_line = text.find('\n', begin - 1);
  return end_of_line == std::string_view::npos ? text.size() : end_of_line + 1;
}

constexpr const char* kSchema = "lime-tokens/1";
constexpr const char* kDescriptionFile = "tokens.json";

fs::path shard_path(const fs::path& folder, TextSplit split, std::size_t index) {
  return folder / fmt::format("{}-{:05}.bin",
                              split == TextSplit::kTraining ? "training" : "validation", index);
}

Json describe_source(const TextSource& source, const Tokenizer& tokenizer) {
  const auto describe = [](const std::vector<fs::path>& files) {
    Json list = Json::array();
    for (const fs::path& file : files) {
      list.push_back({{"path", file.string()},
                      {"bytes", fs::file_size(file)},
                      {"sha256", sha256_of_file(file)}});
    }
    return list;
  };
  return {{"schema", kSchema},
          {"tokenizer_sha256", tokenizer.sha256()},
          {"validation_share", source.validation_fraction},
          {"files", describe(source.files)},
          {"validation_files", describe(source.validation_files)}};
}

/// Returns true if two descriptions are of the same tokens, wherever the files are.
bool is_same_text(const Json& stored, const Json& requested) {
  const auto digests = [](const Json& description, const char* key) {
    std::vector<std::string> list;
    for (const Json& file : description.at(key)) list.push_back(file.at("sha256"));
    return list;
  };
  for (const char* const key : {"schema", "tokenizer_sha256", "validation_share"}) {
    if (stored.value(key, Json()) != requested.at(key)) return false;
  }
  return digests(stored, "files") == digests(requested, "files") &&
         digests(stored, "validation_files") == digests(requested, "validation_files");
}

struct FileTokens {
  std::array<std::vector<std::int32_t>, 2> of_split;
  std::array<std::int64_t, 2> documents = {0, 0};
};

FileTokens tokenize_file(const fs::path& file, double validation_fraction,
                         const Tokenizer& tokenizer, std::stop_token stop) {
  FileTokens tokens;
  visit_documents(file, validation_fraction, [&](TextSplit split, std::string_view text) {
    if (stop.stop_requested()) throw Interrupted("training: stopped while tokenising the text");
    std::vector<std::int32_t> ids;
    try {
      ids = tokenizer.encode(text, {.add_special_tokens = true, .split_special_tokens = true});
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("'{}': {}", file.string(), error.what());
    }
    auto& all = tokens.of_split[static_cast<std::size_t>(split)];
    all.insert(all.end(), ids.begin(), ids.end());
    const std::optional<std::int32_t> end = tokenizer.eos_id();
    if (end && (ids.empty() || ids.back() != *end)) all.push_back(*end);
    ++tokens.documents[static_cast<std::size_t>(split)];
  });
  return tokens;
}

void check_description(const fs::path& folder, const Json& description) {
  const std::size_t files =
      description.at("files").size() + description.at("validation_files").size();
  const Json shards = description.value("shards", Json());
  throw_if<FormatError>(
      shards != files,
      "'{}': shards must be {}, one for each file of the text, got {}; remove the folder to "
      "tokenise again",
      (folder / kDescriptionFile).string(), files, shards.dump());
  const Json tokens = description.value("tokens", Json());
  const bool is_pair = tokens.is_array() && tokens.size() == 2 && tokens[0].is_number_integer() &&
                       tokens[1].is_number_integer();
  throw_if<FormatError>(
      !is_pair,
      "'{}': tokens must be two numbers, of the training and the held-out text, got {}; remove "
      "the folder to tokenise again",
      (folder / kDescriptionFile).string(), tokens.dump());
}

/// @throws FormatError  if the folder does not match its description.
TokenizedText open_tokens(const fs::path& folder, const Json& description,
                          const Tokenizer& tokenizer) {
  check_description(folder, description);
  const auto files_of = [&](TextSplit split) {
    std::vector<fs::path> files;
    for (std::size_t i = 0; i < description.at("shards").get<std::size_t>(); ++i) {
      files.push_back(shard_path(folder, split, i));
    }
    return files;
  };
  const int width = TokenShards::bytes_per_token(tokenizer.vocab_size());
  TokenizedText text = {.training = TokenShards(files_of(TextSplit::kTraining), width),
                        .validation = TokenShards(files_of(TextSplit::kValidation), width),
                        .description = description};
  const Json& expected = description.at("tokens");
  if (text.training.size() != expected.at(0) || text.validation.size() != expected.at(1)) {
    throw FormatError(
        "'{}': must contain {} and {} tokens, got {} and {}; remove it to tokenise again",
        folder.string(), expected.at(0).get<std::int64_t>(), expected.at(1).get<std::int64_t>(),
        text.training.size(), text.validation.size());
  }
  return text;
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

void visit_documents(const fs::path& file, double validation_fraction,
                     const DocumentVisitor& visit) {
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  require_utf8(file, text);
  const std::size_t begin = held_out_begin(text, validation_fraction);
  if (file.extension() == ".jsonl") {
    visit_lines(file, text, text.size() - begin, visit);
    return;
  }
  if (begin > 0) visit(TextSplit::kTraining, text.substr(0, begin));
  if (begin < text.size()) visit(TextSplit::kValidation, text.substr(begin));
}

std::vector<fs::path> text_files(std::span<const fs::path> paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".txt" || extension == ".jsonl") found.push_back(entry.path());
    }
    throw_if(found.empty(), OptionName("text"),
             "the folder '{}' must contain .txt or .jsonl files, got none", path.string());
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

void require_text(std::span<const fs::path> files) {
  if (files.empty())
    throw InvalidArgument(OptionName("text"), "must name at least one file, got none");
  bool has_text = false;
  for (const fs::path& file : files) has_text |= !is_blank(MappedFile(file).text());
  if (!has_text) {
    throw InvalidArgument(OptionName("text"), "'{}'{} must contain text, got none",
                          files.front().string(),
                          files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : "");
  }
}

TokenizedText tokenize_text(const TextSource& source, const Tokenizer& tokenizer,
                            const fs::path& folder, const ProgressFn& on_progress,
                            std::stop_token stop) {
  Json description = describe_source(source, tokenizer);
  const fs::path description_path = folder / kDescriptionFile;
  if (fs::exists(description_path)) {
    const Json stored = read_json_file(description_path);
    if (is_same_text(stored, description)) return open_tokens(folder, stored, tokenizer);
    fs::remove(description_path);
  }
  make_folder(folder);
  std::vector<fs::path> files = source.files;
  files.insert(files.end(), source.validation_files.begin(), source.validation_files.end());
  std::int64_t total_bytes = 0;
  for (const fs::path& file : files) total_bytes += static_cast<std::int64_t>(fs::file_size(file));
  const int width = TokenShards::bytes_per_token(tokenizer.vocab_size());
  std::array<std::int64_t, 2> documents = {0, 0};
  std::array<std::int64_t, 2> num_tokens = {0, 0};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const double held_out = i < source.files.size() ? source.validation_fraction : 1.0;
    const FileTokens tokens = tokenize_file(files[i], held_out, tokenizer, stop);
    for (const TextSplit split : {TextSplit::kTraining, TextSplit::kValidation}) {
      const auto index = static_cast<std::size_t>(split);
      write_token_shard(shard_path(folder, split, i), tokens.of_split[index], width);
      documents[index] += tokens.documents[index];
      num_tokens[index] += static_cast<std::int64_t>(tokens.of_split[index].size());
    }
    bytes += static_cast<std::int64_t>(fs::file_size(files[i]));
    if (on_progress) on_progress({.done = bytes, .total = total_bytes, .note = "tokenising"});
  }
  description["shards"] = files.size();
  description["documents"] = documents;
  description["tokens"] = num_tokens;
  write_file_atomically(description_path, dump_json(description, 2) + "\n");
  return open_tokens(folder, description, tokenizer);
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "train/text/text_documents.h"

#include <algorithm>
#include <string>

#include "core/errors.h"
#include "core/files/mapped_file.h"
#include "core/json.h"
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
  if (text == json.end() || !text->is_string()) {
    throw FormatError("{}: must be an object with a string \"text\", got {}", where,
                      json.is_object() ? "an object without one" : json.type_name());
  }
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
std::size_t held_out_begin(std::string_view text, double validation_share) {
  if (validation_share <= 0.0) return text.size();
  const auto begin =
      static_cast<std::size_t>(static_cast<double>(text.size()) * (1.0 - validation_share));
  if (begin == 0) return 0;
  const std::size_t end_of_line = text.find('\n', begin - 1);
  return end_of_line == std::string_view::npos ? text.size() : end_of_line + 1;
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

void visit_documents(const fs::path& file, double validation_share, const DocumentVisitor& visit) {
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  require_utf8(file, text);
  const std::size_t begin = held_out_begin(text, validation_share);
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
    if (found.empty()) {
      throw InvalidArgument("text: the folder '{}' must contain .txt or .jsonl files, got none",
                            path.string());
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

void require_text(std::span<const fs::path> files) {
  if (files.empty()) throw InvalidArgument("text: must name at least one file, got none");
  bool has_text = false;
  for (const fs::path& file : files) has_text |= !is_blank(MappedFile(file).text());
  if (!has_text) {
    throw InvalidArgument("text: '{}'{} must contain text, got none", files.front().string(),
                          files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : "");
  }
}

}  // namespace lime

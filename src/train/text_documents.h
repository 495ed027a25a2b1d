// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace lime {

/// Where a document goes.
enum class TextSplit : std::uint8_t { kTraining, kValidation };

/// Told of each document in turn; the text is valid during the call.
using DocumentVisitor = std::function<void(TextSplit split, std::string_view text)>;

/// Hands out the documents of one file: of a .jsonl file the string "text" of each line, of any
/// other file the whole content. The last `validation_share` of its bytes is for validation,
/// rounded down to whole lines: of a file with a single line, nothing.
///
/// @param validation_share  in [0, 1); 0 for none, 1 gives all.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if the file is not UTF-8, which names the byte, or if a line of a .jsonl
///                      file is not an object with a string "text", which names the line.
void visit_documents(const std::filesystem::path& file, double validation_share,
                     const DocumentVisitor& visit);

/// The paths, each folder replaced by the .txt and .jsonl files in it, by name.
/// @throws InvalidArgument  if a folder holds none.
std::vector<std::filesystem::path> text_files(std::span<const std::filesystem::path> paths);

/// Whether a text is empty or nothing but white space.
bool is_blank(std::string_view text);

/// @throws InvalidArgument  if there are no files, or all of them are blank.
/// @throws IoError          if a file cannot be read.
void require_text(std::span<const std::filesystem::path> files);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace lime {

/// Split that a document belongs to.
enum class TextSplit : std::uint8_t { kTraining, kValidation };

/// Called with each document in turn; the text is valid during the call.
using DocumentVisitor = std::function<void(TextSplit split, std::string_view text)>;

/// Passes the documents of one file to a visitor: for a .jsonl file the string "text" of each line,
/// for any other file its whole content. The last `validation_share` of its bytes is for
/// validation, rounded down to whole lines: nothing for a file with a single line.
///
/// @param validation_share  in [0, 1); 0 for none, 1 gives all.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if the file is not UTF-8, which names the byte, or if a line of a .jsonl
///                      file is not an object with a string "text", which names the line.
void visit_documents(const std::filesystem::path& file, double validation_share,
                     const DocumentVisitor& visit);

/// Returns the paths, each folder replaced by its .txt and .jsonl files, sorted by name.
/// @throws InvalidArgument  if a folder contains none.
std::vector<std::filesystem::path> text_files(std::span<const std::filesystem::path> paths);

/// Returns true if a text is empty or all white space.
bool is_blank(std::string_view text);

/// Checks that the files contain text.
/// @throws InvalidArgument  if there are no files, or all of them are blank.
/// @throws IoError          if a file cannot be read.
void require_text(std::span<const std::filesystem::path> files);

}  // namespace lime

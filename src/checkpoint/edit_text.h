// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/router_layout.h"
#include "core/options.h"

namespace lime {

enum class EditOperation {
  kZero,
  kMean,      ///< over the tokens of the pass, or of another capture
  kResample,  ///< of other tokens or sequences of the pass
  kPatch,     ///< from another capture
  kScale,
  kProject,  ///< removes the component along a direction
  kSkip,     ///< attention, MLP or both add nothing to the residual stream
  kMask,     ///< experts cannot be selected: their tokens select the next ones
};

constexpr auto names_of(EditOperation) {
  using enum EditOperation;
  return enum_table<EditOperation>({{kZero, "zero"},
                                    {kMean, "mean"},
                                    {kResample, "resample"},
                                    {kPatch, "patch"},
                                    {kScale, "scale"},
                                    {kProject, "project"},
                                    {kSkip, "skip"},
                                    {kMask, "mask"}});
}

/// The words of an edit, `OPERATION[=VALUE] [SITE] [KEY=LIST ...]` (docs/interventions.md). What
/// site, value and lists may be is for the caller to check.
struct EditWords {
  EditOperation operation = EditOperation::kZero;
  std::string value = {};                                      ///< empty: none
  std::string site = {};                                       ///< empty: none
  std::vector<std::pair<std::string, std::string>> keys = {};  ///< as given, each once

  /// Returns the list of a key; null without it.
  const std::string* find(std::string_view key) const;
  bool operator==(const EditWords&) const = default;
};

/// @throws InvalidArgument  about an unknown operation, a second site or a repeated key.
EditWords parse_edit_words(const std::string& text);
/// Returns the text that parse_edit_words() reads.
std::string edit_text(const EditWords& words);

/// The edits of a file of --edit: texts, or edits of routers.
struct EditFile {
  std::vector<std::string> texts = {};
  std::vector<RouterEdit> routes = {};
};

/// Reads {"format": "lime-edit/1", "edits": ["zero hidden", ...]}, or a file of
/// parse_router_edits().
/// @throws IoError, FormatError  that names the file and its first fault.
EditFile read_edit_file(const std::filesystem::path& path);
/// Returns the content of such a file. @param texts  at least one
std::string edit_file_text(const std::vector<std::string>& texts);

/// Throws "unknown operation 'zerro'; did you mean 'zero'?". @throws InvalidArgument
[[noreturn]] void reject_edit_word(const char* what, const std::string& word,
                                   const std::vector<std::string>& known);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/edit_text.h"

#include <algorithm>
#include <sstream>

#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr const char* kEditFormat = "lime-edit/1";

/// Splits "scale=2" at the first "=".
std::pair<std::string, std::string> split_word(const std::string& word) {
  const std::size_t equal = std::min(word.find('='), word.size());
  return {word.substr(0, equal), word.substr(std::min(equal + 1, word.size()))};
}

}  // namespace

void reject_edit_word(const char* what, const std::string& word,
                      const std::vector<std::string>& known) {
  const std::string closest = closest_word(word, known);
  throw InvalidArgument("unknown {} '{}'{}", what, printable(word),
                        closest.empty() ? " (supported: " + join_words(known) + ")"
                                        : "; did you mean '" + closest + "'?");
}

const std::string* EditWords::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &std::pair<std::string, std::string>::first);
  return found == keys.end() ? nullptr : &found->second;
}

EditWords parse_edit_words(const std::string& text) {
  EditWords words;
  std::istringstream stream(text);
  std::string word;
  stream >> word;
  const auto [name, value] = split_word(word);
  const auto operation = find_enum<EditOperation>(name);
  if (!operation) reject_edit_word("operation", name, enum_names<EditOperation>());
  words.operation = *operation;
  words.value = value;
  while (stream >> word) {
    const auto [key, list] = split_word(word);
    if (word.find('=') == std::string::npos) {
      throw_if(!words.site.empty(), "got two sites, '{}' and '{}'", printable(words.site),
               printable(word));
      words.site = word;
    } else {
      throw_if(words.find(key) != nullptr, "{} is given twice; give one list, such as layers=1,3",
               printable(key));
      words.keys.emplace_back(key, list);
    }
  }
  return words;
}

std::string edit_text(const EditWords& words) {
  std::string text(enum_name(words.operation));
  if (!words.value.empty()) text += '=' + words.value;
  if (!words.site.empty()) text += ' ' + words.site;
  for (const auto& [key, list] : words.keys) text += ' ' + key + '=' + list;
  return text;
}

EditFile read_edit_file(const std::filesystem::path& path) {
  const Json json = read_json_file(path);
  const std::string where = "'" + path.string() + "'";
  if (!json.is_object() || json.value("format", Json()) != kEditFormat) {
    return {.routes = parse_router_edits(json, where)};
  }
  const Json list = json.value("edits", Json());
  throw_if<FormatError>(
      !list.is_array() || list.empty() || !std::ranges::all_of(list, &Json::is_string),
      "{}: edits must be a non-empty list of texts, e.g. \"zero hidden\"", where);
  return {.texts = list.get<std::vector<std::string>>()};
}

std::string edit_file_text(const std::vector<std::string>& texts) {
  return Json{{"format", kEditFormat}, {"edits", texts}}.dump(1) + "\n";
}

}  // namespace lime

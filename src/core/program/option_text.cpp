// SPDX-License-Identifier: Apache-2.0
#include "core/program/option_text.h"

#include <algorithm>

namespace lime {
namespace {

std::string as_word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string option_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<std::string> option_texts(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_array()) return {as_word(value)};
  std::vector<std::string> texts;
  texts.reserve(value.size());
  for (const Json& item : value) texts.push_back(as_word(item));
  return texts;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "evaluation/text_template.h"

#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {

TextTemplate::TextTemplate(std::string_view text, const std::string& where) {
  for (const std::string_view unsupported : {"{%", "{#"}) {
    throw_if<FormatError>(text.find(unsupported) != text.npos,
                          "{}: '{}' of Jinja is not supported (supported: fields such as "
                          "{{{{question}}}}); put such a text into a field of the rows",
                          where, unsupported);
  }
  for (std::size_t begin = 0; (begin = text.find("{{")) != text.npos;) {
    const std::size_t end = text.find("}}", begin);
    throw_if<FormatError>(end == text.npos, "{}: '{}' is not closed, expected }}}} after the field",
                          where, printable(text.substr(begin)));
    const std::string field = python_strip(text.substr(begin + 2, end - begin - 2));
    throw_if<FormatError>(field.empty(), "{}: '{}' has no field", where,
                          text.substr(begin, end + 2 - begin));
    parts_.emplace_back(text.substr(0, begin), field);
    text.remove_prefix(end + 2);
  }
  rest_ = text;
}

std::string_view TextTemplate::field() const {
  const bool is_field = parts_.size() == 1 && parts_.front().first.empty() && rest_.empty();
  return is_field ? std::string_view(parts_.front().second) : std::string_view();
}

std::vector<std::string_view> TextTemplate::fields() const {
  std::vector<std::string_view> fields;
  for (const auto& part : parts_) fields.emplace_back(part.second);
  return fields;
}

std::string TextTemplate::filled(const TaskDocument& document) const {
  std::string result;
  for (const auto& [text, field] : parts_) result.append(text).append(text_of(document, field));
  return result + rest_;
}

Texts filled(const std::vector<TextTemplate>& templates, const TaskDocument& document) {
  const std::string_view list = templates.size() == 1 ? templates.front().field() : "";
  if (!list.empty() && !value_at(document, list).is_string()) return texts_of(document, list);
  Texts texts;
  for (const TextTemplate& text : templates) texts.push_back(text.filled(document));
  return texts;
}

void check_field(std::string_view field, const std::string& where) {
  constexpr std::string_view kOperators = "|()[]{}\"'~+*%=<>,";
  if (!field.empty() && field.find_first_of(kOperators) == field.npos) return;
  throw FormatError(
      "{}: expected the name of a field, such as question or country.name, got '{}'; expressions "
      "of Jinja are not supported",
      where, printable(field));
}

}  // namespace lime

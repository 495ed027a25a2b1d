// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evaluation/task_fields.h"

namespace lime {

/// Text with fields of a row: "{{field}}" is replaced by its text.
class TextTemplate {
 public:
  /// @param where  named in errors: "'capital.yaml': 'prompt'"
  /// @throws FormatError  if a field is not closed or has no name, or the text has a statement or a
  ///                      comment of Jinja.
  TextTemplate(std::string_view text, const std::string& where);

  /// Returns the field if the template is only this field; else an empty text.
  std::string_view field() const;
  std::vector<std::string_view> fields() const;

  /// @throws FormatError  if the row lacks a field.
  std::string filled(const TaskDocument& document) const;

 private:
  std::vector<std::pair<std::string, std::string>> parts_;  ///< text, and the field after it
  std::string rest_;
};

/// Returns one text for each template, or those of the list that a single template "{{field}}"
/// names.
Texts filled(const std::vector<TextTemplate>& templates, const TaskDocument& document);

/// Checks the name of a field that a user wrote: "question" or "country.name".
/// @throws FormatError  if it is empty or an expression of Jinja.
void check_field(std::string_view field, const std::string& where);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/chat/jinja_frame.h"

namespace lime::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

/// A template in the environment that transformers gives to chat templates: blocks are trimmed, and
/// `raise_exception`, `strftime_now`, `namespace`, `range` and `dict` exist. Thread-safe.
class Template {
 public:
  /// @param where  names the template in errors: "'model/chat_template.jinja'"
  /// @throws FormatError  if it is broken or not supported; names the line
  Template(std::string_view source, std::string where);

  /// Returns the text that the template makes of the variables.
  /// @throws InvalidArgument  if it calls raise_exception
  /// @throws FormatError      if it fails; names the line
  std::string render(const Variables& variables) const;

 private:
  std::string where_;
  Block body_;
};

}  // namespace lime::jinja

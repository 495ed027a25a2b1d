// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/chat/jinja_value.h"

namespace lime::jinja {

/// Returns the method `name` of a text, list or dict, bound to `object`; no value if it has none.
/// Those that change their object, as `append`, are missing, as in the sandbox of transformers.
std::optional<Value> method_of(const Value& object, std::string_view name);

/// Returns the text with the first letter of each word in upper case, as `str.title()`.
std::string titled(std::string_view text);

}  // namespace lime::jinja

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "checkpoint/chat/jinja_frame.h"

namespace lime::jinja {

/// Parses a template: the language of Jinja 3.1 without inheritance, includes, `call`, `filter` and
/// recursive loops, with `break`, `continue` and transformers' `generation`.
/// @param where  names the template in errors
/// @throws FormatError  if it is broken, or needs what is missing here; names line and word
Block parse(std::string_view source, std::string_view where);

}  // namespace lime::jinja

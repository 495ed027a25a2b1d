// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/chat/jinja_frame.h"
#include "checkpoint/chat/jinja_token_reader.h"

namespace lime::jinja {

// These functions parse from the present token on, and throw FormatError where it is not expected.

/// Parses an expression.
Expression parse_expression(TokenReader& reader);

/// Parses an expression, or several with commas between them: a tuple.
Expression parse_tuple(TokenReader& reader);

/// Parses what a loop goes through: an expression without `if`, which belongs to the loop.
Expression parse_loop_items(TokenReader& reader);

}  // namespace lime::jinja

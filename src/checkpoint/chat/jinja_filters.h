// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "checkpoint/chat/jinja_value.h"

namespace lime::jinja {

/// A filter or a test of Jinja: `value | name(arguments)`, `value is name(arguments)`.
using Filter = Value (*)(const Value& value, const Arguments& arguments);
using Test = bool (*)(const Value& value, const Arguments& arguments);

/// Returns the filter `name`; null if there is none. Filters throw FormatError, without a place,
/// for values that Jinja refuses.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);

}  // namespace lime::jinja

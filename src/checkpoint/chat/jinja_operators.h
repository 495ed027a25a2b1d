// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "checkpoint/chat/jinja_value.h"

namespace lime::jinja {

/// Longest list that an operation may make, so that a hostile template cannot fill memory.
inline constexpr std::size_t kMaxListItems = 100'000;

// These functions throw FormatError, without a place, for operands that Python or Jinja refuses.

/// @param op  one of + - * / // % ** ~
Value arithmetic(std::string_view op, const Value& a, const Value& b);
Value negated(const Value& value);

/// @param op  one of == != < > <= >=
bool compares(std::string_view op, const Value& a, const Value& b);
bool contains(const Value& container, const Value& item);

/// Returns a < b, as sorting needs it.
bool is_less(const Value& a, const Value& b);

/// Returns `object[key]`; an undefined value if there is none.
Value subscript(const Value& object, const Value& key);

/// Returns `object[begin:end:step]`; bounds without a value are those of the object.
Value slice(const Value& object, const std::optional<Value>& begin, const std::optional<Value>& end,
            const std::optional<Value>& step);

/// Returns `object.name`: a method, an entry of a dict or an attribute; else an undefined value.
Value attribute(const Value& object, std::string_view name);

}  // namespace lime::jinja

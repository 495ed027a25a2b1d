// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace lime {

using Texts = std::vector<std::string>;

/// Row of a benchmark's data file, with its place for error messages.
struct TaskDocument {
  Json json;
  std::string where;           ///< "'arc.jsonl' line 3"
  bool lists_choices = false;  ///< a prompt of BIG-bench that lists them
};

/// Returns the value at a path, "choices.text" or "targets.0", or at the first of several that
/// exists, "premise|sentence1"; null if there is none.
const Json& value_at(const TaskDocument& document, std::string_view path);

/// Returns the text or number at a path. @throws FormatError  if there is none.
std::string text_of(const TaskDocument& document, std::string_view path);

/// Returns the list of texts and numbers at a path. @throws FormatError  if there is none.
Texts texts_of(const TaskDocument& document, std::string_view path);

/// Selects if the gold answer may be an index where names are given too.
enum class GoldIndex { kAllowed, kRefused };

/// Returns the index of the gold answer: that of the name it equals, else a number, a number as
/// text, true or false.
/// @throws FormatError  if there is no gold answer, or it is none of these.
std::size_t gold_of(const TaskDocument& document, std::string_view path, const Texts& names = {},
                    GoldIndex index = GoldIndex::kAllowed);

/// Returns the text `object[key]`, or `fallback` if it is absent.
/// @throws FormatError  if it is not a text.
std::string text_or(const Json& object, const char* key, const char* fallback,
                    std::string_view where);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/python_text.h"

#include <algorithm>
#include <array>

#include "checkpoint/tokenizer/normalizations.h"

namespace lime {
namespace {

/// White space of `str.isspace()` outside ASCII, in UTF-8.
constexpr std::array<std::string_view, 19> kWideSpaces = {
    "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",  "\u2003", "\u2004",
    "\u2005", "\u2006", "\u2007", "\u2008", "\u2009",  "\u200a", "\u2028",
    "\u2029", "\u202f", "\u205f", "\u3000", "\xc2\x85"};

bool is_space(std::string_view code_point) {
  if (code_point.size() > 1) return std::ranges::find(kWideSpaces, code_point) != kWideSpaces.end();
  const char c = code_point[0];
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

}  // namespace

std::vector<std::size_t> code_point_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

std::size_t code_points_in(std::string_view text) { return code_point_starts(text).size() - 1; }

std::string_view stripped(std::string_view text, StripSides sides,
                          std::optional<std::string_view> characters) {
  const std::vector<std::size_t> starts = code_point_starts(text);
  const auto at = [&](std::size_t i) { return text.substr(starts[i], starts[i + 1] - starts[i]); };
  const auto is_removed = [&](std::string_view code_point) {
    return characters ? characters->find(code_point) != characters->npos : is_space(code_point);
  };
  std::size_t first = 0;
  std::size_t end = starts.size() - 1;
  while (sides != StripSides::kLeft && end > 0 && is_removed(at(end - 1))) --end;
  while (sides != StripSides::kRight && first < end && is_removed(at(first))) ++first;
  return text.substr(starts[first], starts[end] - starts[first]);
}

std::size_t python_rstrip_size(std::string_view text) {
  return stripped(text, StripSides::kRight).size();
}

std::string python_strip(std::string_view text) {
  return std::string(stripped(text, StripSides::kBoth));
}

std::string python_capitalize(std::string_view text) {
  if (text.empty()) return "";
  const std::size_t second = code_point_starts(text)[1];
  std::string first(text.substr(0, second));
  if (first[0] >= 'a' && first[0] <= 'z') first[0] -= 'a' - 'A';
  return first + lowercase(text.substr(second));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t place = 0; (place = text.find(from, place)) != std::string::npos;
       place += to.size()) {
    text.replace(place, from.size(), to);
  }
  return text;
}

}  // namespace lime

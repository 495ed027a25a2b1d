// SPDX-License-Identifier: Apache-2.0
#include "evaluation/python.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "checkpoint/tokenizer/unicode.h"

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

std::size_t python_rstrip_size(std::string_view text) {
  const std::vector<std::size_t> starts = code_point_starts(text);
  std::size_t end = starts.size() - 1;
  while (end > 0 && is_space(text.substr(starts[end - 1], starts[end] - starts[end - 1]))) --end;
  return starts[end];
}

std::string python_strip(std::string_view text) {
  text = text.substr(0, python_rstrip_size(text));
  const std::vector<std::size_t> starts = code_point_starts(text);
  std::size_t first = 0;
  while (starts[first] < text.size() &&
         is_space(text.substr(starts[first], starts[first + 1] - starts[first]))) {
    ++first;
  }
  return std::string(text.substr(starts[first]));
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

std::mt19937 PythonRandom::seeded(std::uint32_t seed) {
  // init_genrand(19650218), then init_by_array() with the key {seed}.
  std::array<std::uint32_t, std::mt19937::state_size> state;
  state[0] = 19650218;
  const auto mixed = [&](std::size_t i, std::uint32_t factor) {
    return (state[i - 1] ^ state[i - 1] >> 30U) * factor;
  };
  for (std::size_t i = 1; i < state.size(); ++i) {
    state[i] = mixed(i, 1812433253) + static_cast<std::uint32_t>(i);
  }
  std::size_t i = 1;
  const auto advance = [&] {
    if (++i < state.size()) return;
    state[0] = state.back();
    i = 1;
  };
  for (std::size_t k = 0; k < state.size(); ++k, advance()) {
    state[i] = (state[i] ^ mixed(i, 1664525)) + seed;
  }
  for (std::size_t k = 1; k < state.size(); ++k, advance()) {
    state[i] = (state[i] ^ mixed(i, 1566083941)) - static_cast<std::uint32_t>(i);
  }
  state[0] = 0x80000000U;
  /// Passes the state to the engine.
  struct Words {
    using result_type = std::uint_least32_t;
    std::span<const std::uint32_t> words;
    void generate(std::uint_least32_t* begin, std::uint_least32_t*) const {
      std::copy(words.begin(), words.end(), begin);
    }
  } words{state};
  return std::mt19937(words);
}

std::size_t PythonRandom::below(std::size_t bound) {
  const auto bits = static_cast<unsigned>(std::bit_width(bound));
  std::size_t drawn = engine_() >> (32U - bits);
  while (drawn >= bound) drawn = engine_() >> (32U - bits);
  return drawn;
}

std::vector<std::size_t> PythonRandom::sample(std::size_t size, std::size_t count) {
  // Python draws from a list up to this size, and with rejection beyond it.
  std::size_t largest_list = 21;
  if (count > 5) {
    std::size_t power = 1;
    while (power < 3 * count) power *= 4;
    largest_list += power;
  }
  std::vector<std::size_t> picked;
  if (size <= largest_list) {
    std::vector<std::size_t> pool(size);
    std::iota(pool.begin(), pool.end(), 0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = below(size - i);
      picked.push_back(pool[place]);
      pool[place] = pool[size - i - 1];
    }
    return picked;
  }
  while (picked.size() < count) {
    const std::size_t place = below(size);
    if (std::ranges::find(picked, place) == picked.end()) picked.push_back(place);
  }
  return picked;
}

}  // namespace lime

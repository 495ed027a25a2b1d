// SPDX-License-Identifier: Apache-2.0
#include "evaluation/python_random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

namespace lime {

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

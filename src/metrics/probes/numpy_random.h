// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace lime {

/// Reproduces `numpy.random.RandomState(seed)`, for presets that follow Python code.
///
/// MT19937 (Matsumoto & Nishimura 1998), seeded by a 32-bit integer: the standard's std::mt19937.
/// Integers are drawn by masking and rejection, as in numpy's random_interval().
class NumpyRandom {
 public:
  /// @param seed  < 2^32, as numpy requires. @throws InvalidArgument
  explicit NumpyRandom(std::uint64_t seed);

  /// Returns a uniform integer in [0, max], max < 2^32.
  std::uint32_t interval(std::uint32_t max);

  /// Permutes `items` like RandomState.shuffle.
  template <typename T> void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(interval(static_cast<std::uint32_t>(i - 1)));
      std::swap(items[i - 1], items[j]);
    }
  }

 private:
  std::mt19937 engine_;
};

}  // namespace lime

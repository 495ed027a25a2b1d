// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lime {

/// Returns the same numbers as Python's `random.Random(seed)`, with which lm-evaluation-harness
/// draws few-shot examples: MT19937 (Matsumoto & Nishimura 1998), seeded by its init_by_array().
/// Not thread-safe.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed) : engine_(seeded(seed)) {}

  /// Returns the next 32 random bits.
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  /// Returns a uniform integer in [0, bound), 0 < bound < 2^32, as `randrange(bound)`.
  std::size_t below(std::size_t bound);
  /// Returns the indices that `sample(range(size), count)` selects; count <= size.
  std::vector<std::size_t> sample(std::size_t size, std::size_t count);

 private:
  static std::mt19937 seeded(std::uint32_t seed);

  std::mt19937 engine_;
};

}  // namespace lime

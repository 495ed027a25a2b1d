// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace lime {

/// Generates the same stream of numbers on every machine and standard library for a given seed.
///
/// xoshiro256** (Blackman & Vigna 2018), seeded through splitmix64 as its authors advise.
/// Satisfies UniformRandomBitGenerator, but pair it with the methods below and not with the
/// distributions of `<random>`, which differ between standard libraries.
/// Not thread-safe: give each thread a `fork()` of its own.
class Random {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  explicit Random(std::uint64_t seed);

  /// Returns the next 64 random bits.
  result_type operator()();
  /// Returns a number uniform in [0, 1) with 53 bits.
  double uniform();
  /// Returns a number uniform in [low, high).
  double uniform(double low, double high);
  /// Returns a uniform integer in [0, bound); bound > 0. Unbiased (Lemire 2019).
  std::uint64_t below(std::uint64_t bound);
  /// Returns a standard normal variate (Marsaglia's polar method).
  double normal();
  /// Returns an independent generator that depends only on this seed and `stream`.
  Random fork(std::uint64_t stream) const;

  /// Permutes `items` uniformly (Fisher-Yates from the back).
  template <typename T> void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

  /// Stores the full state, for files that resume a run.
  struct State {
    std::uint64_t seed = 0;
    std::array<std::uint64_t, 4> words{};
    double spare_normal = 0.0;
    bool has_spare_normal = false;
  };
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  State state_;
};

}  // namespace lime

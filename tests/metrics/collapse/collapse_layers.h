// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "metrics/collapse/collapse_verdict.h"

namespace lime::testing {

/// A layer in memory whose rows are made to have causes of a collapse.
struct CollapseLayer {
  std::int64_t sequences = 24;
  std::int64_t tokens = 48;  ///< of each sequence
  std::int64_t dim = 96;
  MatrixF rows = {};
  std::vector<std::int32_t> ids = {};

  /// Sets rows with the spectrum 1 / j in random directions, mean square 1 per dimension, and ids
  /// without repetition.
  void set_plain(std::uint64_t seed);
  /// The first token of every sequence gets `strength` times the norm of a row in one dimension.
  void add_massive_tokens(double strength);
  /// One dimension of all tokens gets `strength` times the norm of a row.
  void add_outlier_dimension(double strength);
  /// All rows get a vector of `strength` times their norm.
  void add_common_direction(double strength);
  /// The rows of each sequence get a vector of their own, of `strength` times their norm.
  void add_equal_tokens(double strength, std::uint64_t seed);
  /// Projects the rows on `directions` random directions, plus 2 % noise.
  void keep_directions(std::int64_t directions, std::uint64_t seed);
  /// Every sequence repeats one token id; its rows differ by 1 %.
  void repeat_tokens(std::uint64_t seed);

  LayerRows source() const;
  LayerCauses measure(int threads = 1, const CollapseOptions& options = {}) const;
  std::string verdict() const;
};

}  // namespace lime::testing

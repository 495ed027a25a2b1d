// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/matrix.h"
#include "core/random.h"
#include "core/threads/thread_pool.h"

// Rows of representations, and the loops over them that several metrics share.

namespace lime {

/// Sequences that are read on demand, so that only one per thread is in memory.
struct SequenceSource {
  std::int64_t count = 0;
  /// Reads the representations of sequence `index` into `rows`, [num_tokens, dim]. Called from
  /// several threads at once; `rows` contains an earlier sequence, whose memory can be reused.
  std::function<void(std::int64_t index, MatrixF& rows)> read;
};

/// Runs `work`, whose errors then begin with `where`.
template <typename Work> auto with_prefix(const std::string& where, const Work& work) {
  try {
    return work();
  } catch (const InvalidArgument& error) {
    throw prefixed(where, error);
  } catch (const NumericalError& error) {
    throw prefixed(where, error);
  }
}
template <typename Work>
void with_sequence(const char* metric, std::int64_t index, const Work& work) {
  with_prefix(fmt::format("{}: sequence {}", metric, index), work);
}

/// Calls f(first, last) for blocks of at most `size` of `count` items, in parallel.
template <typename F>
void for_blocks(std::int64_t count, std::int64_t size, ThreadPool& pool, const F& f) {
  pool.parallel_for((count + size - 1) / size, [&](std::int64_t block) {
    f(block * size, std::min((block + 1) * size, count));
  });
}

template <typename Indices>
MatrixF gather_rows(const ConstMatrixRef& rows, const Indices& indices) {
  MatrixF gathered(static_cast<Eigen::Index>(indices.size()), rows.cols());
  Eigen::Index to = 0;
  for (const auto index : indices) gathered.row(to++) = rows.row(index);
  return gathered;
}

/// Returns the sum of the rows, [dim], in double.
inline VectorD sum_of_rows(const ConstMatrixRef& rows) {
  VectorD sum = VectorD::Zero(rows.cols());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) sum += rows.row(r).transpose().cast<double>();
  return sum;
}
inline VectorD mean_row(const ConstMatrixRef& rows) {
  return sum_of_rows(rows) / static_cast<double>(rows.rows());
}

/// Checks that all values are finite.
/// @throws InvalidArgument  naming the first row and column that is not.
void check_finite_rows(const ConstMatrixRef& points);

/// Shuffles the numbers below `total` and returns the first `count`, ascending.
std::vector<std::int64_t> sample_rows(std::int64_t total, std::int64_t count, Random random);

/// Draws `count` of the numbers below `total` without replacement, ascending; all if there are no
/// more. Depends on total, count and seed only, so that captures of one text get the same rows.
std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed);

}  // namespace lime

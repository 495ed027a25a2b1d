// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// Minimum number of blocks; with fewer the interval is unreliable.
inline constexpr std::int64_t kFewestBlocks = 5;

struct Block {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Splits `num_items` items in order into blocks whose sizes differ by at most one.
/// @throws InvalidArgument  if there are fewer items than blocks, or fewer blocks than 5.
std::vector<Block> cut_into_blocks(std::int64_t num_items, std::int64_t num_blocks);

struct Jackknife {
  double standard_error = 0.0;
  double ci_low = 0.0;
  double ci_high = 0.0;
  /// One per block, [num_blocks]; their mean is the estimate without its bias of order 1 / n.
  std::vector<double> pseudo_values;
};

/// Estimates the uncertainty of an estimator with the delete-a-block jackknife.
///
///   se^2 = (G - 1) / G sum_g (theta_g - mean theta_g)^2,    interval theta -+ t se
///   pseudo-value of block g = G theta - (G - 1) theta_g
///
/// with t the quantile of Student's t-distribution with G - 1 degrees of freedom. For a mean,
/// blocks of one item give the usual standard error, and the items as pseudo-values.
///
/// @param all      theta, estimated from all data.
/// @param without  theta_g, estimated without block g, [num_blocks >= 5].
/// @throws InvalidArgument  if there are fewer blocks, or a number is not finite.
/// Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 11; Kuensch (1989),
/// Ann. Stat. 17, 1217-1241, for blocks of dependent items.
Jackknife jackknife(double all, std::span<const double> without, double confidence = 0.95);

}  // namespace lime

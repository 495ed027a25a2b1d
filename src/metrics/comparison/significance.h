// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// Returns the two-sided p-value of McNemar's exact test: the probability that of `first + second`
/// fair coins at least as many more fall on one side than on the other.
///
///   p = min(1, 2 sum_{k <= min(first, second)} binomial(first + second, k) / 2^(first + second))
///
/// @param first, second  items that only the first, or only the second model answers correctly
/// Source: McNemar (1947), Psychometrika 12; the exact form is the binomial (sign) test.
double mcnemar_exact(std::int64_t first, std::int64_t second);

/// Returns the p-value of the Kruskal-Wallis test that all groups come from one distribution, with
/// the correction for ties and the chi-squared approximation; 1 if all values are equal.
/// @throws InvalidArgument  if there are fewer than two groups, or one is empty.
/// Source: Kruskal & Wallis (1952), J. Am. Stat. Assoc. 47.
double kruskal_wallis_p(std::span<const std::vector<double>> groups);

/// Corrects p-values for multiple testing (Holm-Bonferroni); controls the family-wise error rate.
///
///   adjusted_(k) = max_{j <= k} min(1, (m - j + 1) p_(j)),  p_(1) <= ... <= p_(m)
///
/// @return  in the order of `p_values`.
/// @throws InvalidArgument  if a value is outside [0, 1].
/// Source: Holm (1979), Scandinavian Journal of Statistics 6.
std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace lime

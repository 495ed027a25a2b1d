// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/paired_comparison.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "metrics/comparison/resampling.h"

namespace lime {
namespace {

/// Largest n for which 2^n fits into the counter.
constexpr std::size_t kMaxBits = 62;

std::vector<double> differences(std::span<const double> first, std::span<const double> second) {
  throw_if(first.size() != second.size(),
           "comparison: both samples must have the same size, got {} and {}", first.size(),
           second.size());
  std::vector<double> values(first.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = second[i] - first[i];
  return values;
}

/// Returns sum_i s_i d_i, where bit i of `words` means s_i = -1.
double flipped_sum(std::span<const double> values, std::span<const std::uint64_t> words) {
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool flip = ((words[i / 64] >> (i % 64)) & 1) != 0;
    sum += flip ? -values[i] : values[i];
  }
  return sum;
}

double exact_p_value(std::span<const double> values, double threshold) {
  const std::uint64_t count = std::uint64_t{1} << values.size();
  std::uint64_t hits = 0;
  for (std::uint64_t signs = 0; signs < count; ++signs) {
    if (std::abs(flipped_sum(values, {&signs, 1})) >= threshold) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(count);
}

double random_p_value(std::span<const double> values, double threshold,
                      const PairedOptions& options) {
  const Random root = Random(options.seed).fork(kTestStream);
  std::vector<std::uint64_t> words((values.size() + 63) / 64);
  std::int64_t hits = 0;
  for (std::int64_t r = 0; r < options.resamples; ++r) {
    Random random = root.fork(static_cast<std::uint64_t>(r));
    for (std::uint64_t& word : words) word = random();
    if (std::abs(flipped_sum(values, words)) >= threshold) ++hits;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(options.resamples + 1);
}

}  // namespace

PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                const PairedOptions& options) {
  check_resamples(options);
  const std::vector<double> values = differences(first, second);
  const Summary summary = summarize(values, options);
  double magnitude = 0.0;
  for (const double value : values) magnitude += std::abs(value);
  const double observed = std::abs(std::accumulate(values.begin(), values.end(), 0.0));
  const double threshold = observed - kRoundingTie * magnitude;

  PairedComparison result{.n = summary.n,
                          .difference = summary.mean,
                          .std = summary.std,
                          .ci_low = summary.ci_low,
                          .ci_high = summary.ci_high};
  result.exact = values.size() <= kMaxBits &&
                 std::uint64_t{1} << values.size() <= static_cast<std::uint64_t>(options.resamples);
  result.p_value =
      result.exact ? exact_p_value(values, threshold) : random_p_value(values, threshold, options);
  return result;
}

}  // namespace lime

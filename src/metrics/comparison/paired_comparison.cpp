// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/paired_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/random.h"
#include "metrics/correlation.h"
#include "metrics/quantiles.h"

namespace lime {
namespace {

/// Sums and differences closer than this, relative to the magnitudes, are equal up to rounding.
constexpr double kTie = 1e-12;
/// Largest n for which 2^n fits into the counter.
constexpr std::size_t kMaxBits = 62;
/// Random stream of the tests, separate from those of the bootstrap (0, 1, ... resamples - 1).
constexpr std::uint64_t kTestStream = std::uint64_t{1} << 63;

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

void check_resamples(const PairedOptions& options) {
  throw_if(options.resamples < SummaryOptions::kFewestResamples,
           "resamples: must be >= 100, got {}", options.resamples);
  options.validate();
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> means_of(const RunValues& runs) {
  std::vector<double> means;
  for (const std::vector<double>& run : runs) {
    throw_if(run.empty() || run.size() != runs.front().size(),
             "runs: must have values of the same items, got {} and {}", runs.front().size(),
             run.size());
    for (const double value : run) {
      if (!std::isfinite(value)) throw InvalidArgument("runs: values must be finite");
    }
    means.push_back(mean_of(run));
  }
  if (means.empty()) throw InvalidArgument("runs: needs at least one run, got none");
  return means;
}

std::size_t draw_index(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(count)));
}

/// Returns the interval of the `second` mean, minus the `first`, over resampled runs and items.
std::array<double, 2> resampled_interval(const RunValues* first, const RunValues& second,
                                         const PairedOptions& options) {
  const std::size_t items = second.front().size();
  std::vector<std::size_t> drawn(items);
  std::vector<double> means(static_cast<std::size_t>(options.resamples));
  const Random root(options.seed);
  for (std::size_t r = 0; r < means.size(); ++r) {
    Random random = root.fork(r);
    for (std::size_t& item : drawn) item = draw_index(random, items);
    const auto mean = [&](const RunValues& runs) {
      double sum = 0.0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::vector<double>& run = runs[draw_index(random, runs.size())];
        for (const std::size_t item : drawn) sum += run[item];
      }
      return sum / static_cast<double>(runs.size() * items);
    };
    means[r] = mean(second);
    if (first != nullptr) means[r] -= mean(*first);
  }
  std::ranges::sort(means);
  return {quantile(means, (1.0 - options.confidence) / 2.0),
          quantile(means, (1.0 + options.confidence) / 2.0)};
}

/// Counts assignments of `values` to groups, of `num_first` and the rest, that are at least as far
/// apart as the given one.
RunComparison permutation_test(const std::vector<double>& values, std::size_t num_first,
                               const PairedOptions& options) {
  const auto difference = [&](const std::vector<char>& in_first) {
    double first = 0.0;
    double second = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      (in_first[i] != 0 ? first : second) += values[i];
    }
    return std::abs(second / static_cast<double>(values.size() - num_first) -
                    first / static_cast<double>(num_first));
  };
  double scale = 0.0;
  for (const double value : values) scale = std::max(scale, std::abs(value));
  std::vector<char> in_first(values.size(), 0);
  std::fill_n(in_first.begin(), num_first, char{1});
  const double threshold = difference(in_first) - kTie * scale;
  double assignments = 1.0;
  for (std::size_t i = 0; i < num_first; ++i) {
    assignments *= static_cast<double>(values.size() - i) / static_cast<double>(i + 1);
  }
  RunComparison result;
  result.exact = assignments <= static_cast<double>(options.resamples);
  std::int64_t hits = 0;
  std::int64_t count = 0;
  if (result.exact) {
    do {
      hits += difference(in_first) >= threshold ? 1 : 0;
      ++count;
    } while (std::prev_permutation(in_first.begin(), in_first.end()));
  } else {
    Random random = Random(options.seed).fork(kTestStream);
    for (count = hits = 1; count <= options.resamples; ++count) {
      for (std::size_t i = in_first.size(); i > 1; --i) {
        std::swap(in_first[i - 1], in_first[draw_index(random, i)]);
      }
      hits += difference(in_first) >= threshold ? 1 : 0;
    }
  }
  result.p_value = static_cast<double>(hits) / static_cast<double>(count);
  return result;
}

/// Returns P(X > x) of the chi-squared distribution, by the series or the continued fraction of the
/// incomplete gamma function. Source: Abramowitz & Stegun (1964), 6.5.29 and 6.5.31.
double chi_squared_tail(double x, double degrees_of_freedom) {
  const double a = degrees_of_freedom / 2.0;
  const double z = x / 2.0;
  if (!(z > 0.0)) return 1.0;
  const double scale = std::exp(a * std::log(z) - z - std::lgamma(a));
  if (z < a + 1.0) {
    double term = 1.0 / a;
    double sum = term;
    for (double n = a + 1.0; term > 1e-17 * sum; n += 1.0) sum += term *= z / n;
    return 1.0 - scale * sum;
  }
  double tail = 0.0;
  for (int n = 500; n >= 1; --n) tail = n * (n - a) / (z + 2.0 * n + 1.0 - a - tail);
  return scale / (z + 1.0 - a - tail);
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
  const double threshold = observed - kTie * magnitude;

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

double mcnemar_exact(std::int64_t first, std::int64_t second) {
  const auto n = static_cast<double>(first + second);
  double sum = 0.0;
  for (std::int64_t i = 0; i <= std::min(first, second); ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) -
                    n * std::numbers::ln2);
  }
  return std::min(1.0, 2.0 * sum);
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0.0 && p <= 1.0)) throw InvalidArgument("holm: p must be in [0, 1], got {}", p);
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0.0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto tests_left = static_cast<double>(order.size() - k);
    largest = std::max(largest, std::min(1.0, tests_left * p_values[order[k]]));
    adjusted[order[k]] = largest;
  }
  return adjusted;
}

RunSummary summarize_runs(const RunValues& runs, const PairedOptions& options) {
  check_resamples(options);
  const std::vector<double> means = means_of(runs);
  const auto n = static_cast<double>(means.size());
  RunSummary result;
  result.mean = mean_of(means);
  double squares = 0.0;
  for (const double mean : means) squares += (mean - result.mean) * (mean - result.mean);
  result.std = std::sqrt(squares / n);
  result.ci_low = result.ci_high = result.both_ci_low = result.both_ci_high = kNan;
  if (means.size() < 2) return result;
  const double reach = student_quantile(0.5 + options.confidence / 2.0, std::ssize(means) - 1) *
                       std::sqrt(squares / (n - 1.0) / n);
  result.ci_low = result.mean - reach;
  result.ci_high = result.mean + reach;
  const auto both = resampled_interval(nullptr, runs, options);
  result.both_ci_low = both[0];
  result.both_ci_high = both[1];
  return result;
}

RunComparison compare_runs(const RunValues& first, const RunValues& second,
                           const PairedOptions& options) {
  check_resamples(options);
  std::vector<double> means = means_of(first);
  const std::vector<double> others = means_of(second);
  throw_if(first.front().size() != second.front().size(),
           "runs: must have values of the same items, got {} and {}", first.front().size(),
           second.front().size());
  const double difference = mean_of(others) - mean_of(means);
  means.insert(means.end(), others.begin(), others.end());
  RunComparison result = permutation_test(means, first.size(), options);
  result.difference = difference;
  result.ci_low = result.ci_high = kNan;
  if (first.size() > 1 && second.size() > 1) {
    const auto interval = resampled_interval(&first, second, options);
    result.ci_low = interval[0];
    result.ci_high = interval[1];
  }
  return result;
}

double kruskal_wallis_p(std::span<const std::vector<double>> groups) {
  std::vector<double> all;
  for (const std::vector<double>& group : groups) {
    if (group.empty()) throw InvalidArgument("kruskal_wallis: a group is empty");
    all.insert(all.end(), group.begin(), group.end());
  }
  throw_if(groups.size() < 2, "kruskal_wallis: needs at least 2 groups, got {}", groups.size());
  const std::vector<double> ranks = average_ranks(all);
  const auto n = static_cast<double>(all.size());
  double between = 0.0;
  std::size_t place = 0;
  for (const std::vector<double>& group : groups) {
    const auto begin = ranks.begin() + static_cast<std::ptrdiff_t>(place);
    const double sum = std::accumulate(begin, begin + std::ssize(group), 0.0);
    between += sum * sum / static_cast<double>(group.size());
    place += group.size();
  }
  // Ties: divide by 1 - sum (t^3 - t) / (n^3 - n).
  std::ranges::sort(all);
  double ties = 0.0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end] == all[i]) ++end;
    const auto t = static_cast<double>(end - i);
    ties += t * t * t - t;
    i = end;
  }
  const double correction = 1.0 - ties / (n * n * n - n);
  if (!(correction > 0.0)) return 1.0;
  const double h = (12.0 / (n * (n + 1.0)) * between - 3.0 * (n + 1.0)) / correction;
  return chi_squared_tail(h, static_cast<double>(groups.size() - 1));
}

std::vector<PairOutcome> compare_pairs(std::span<const double> good, std::span<const double> bad) {
  throw_if(good.size() != bad.size(),
           "pairs: the numbers of good and bad sentences must be equal, got {} and {}", good.size(),
           bad.size());
  std::vector<PairOutcome> outcomes;
  outcomes.reserve(good.size());
  for (std::size_t i = 0; i < good.size(); ++i) {
    throw_if(!std::isfinite(good[i]) || !std::isfinite(bad[i]),
             "pairs: scores must be finite, got {1} and {2} for pair {0}", i, good[i], bad[i]);
    outcomes.push_back(good[i] > bad[i]    ? PairOutcome::kCorrect
                       : good[i] == bad[i] ? PairOutcome::kTie
                                           : PairOutcome::kIncorrect);
  }
  return outcomes;
}

PairAccuracy pair_accuracy(std::span<const PairOutcome> outcomes, TieRule ties, double confidence) {
  if (outcomes.empty()) throw InvalidArgument("pairs: expected at least one, got none");
  PairAccuracy result;
  result.num_pairs = static_cast<std::int64_t>(outcomes.size());
  result.num_correct = std::ranges::count(outcomes, PairOutcome::kCorrect);
  result.num_ties = std::ranges::count(outcomes, PairOutcome::kTie);
  if (ties == TieRule::kCorrect) result.num_correct += result.num_ties;
  const auto n = static_cast<double>(result.num_pairs);
  const double p = static_cast<double>(result.num_correct) / n;
  result.accuracy = p;
  if (result.num_pairs > 1) result.standard_error = std::sqrt(p * (1.0 - p) / (n - 1.0));
  const double z = normal_quantile(0.5 + confidence / 2.0);
  const double centre = p + z * z / (2.0 * n);
  const double reach = z * std::sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
  const double scale = 1.0 + z * z / n;
  result.ci_low = std::max(0.0, (centre - reach) / scale);
  result.ci_high = std::min(1.0, (centre + reach) / scale);
  return result;
}

double pooled_standard_error(std::span<const PairAccuracy> tasks) {
  double pairs = 0.0;
  double squares = 0.0;
  for (const PairAccuracy& task : tasks) {
    const auto n = static_cast<double>(task.num_pairs);
    pairs += n;
    squares += (n - 1.0) * n * task.standard_error * task.standard_error;
  }
  const double freedom = pairs - static_cast<double>(tasks.size());
  return freedom > 0.0 ? std::sqrt(squares / freedom / pairs) : 0.0;
}

}  // namespace lime

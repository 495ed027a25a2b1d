// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/run_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "core/random.h"
#include "metrics/comparison/resampling.h"
#include "metrics/quantiles.h"

namespace lime {
namespace {

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
                                         const SummaryOptions& options) {
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
                               const SummaryOptions& options) {
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
  const double threshold = difference(in_first) - kRoundingTie * scale;
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

}  // namespace

RunSummary summarize_runs(const RunValues& runs, const SummaryOptions& options) {
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
                           const SummaryOptions& options) {
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

}  // namespace lime

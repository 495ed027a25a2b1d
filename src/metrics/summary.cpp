// SPDX-License-Identifier: Apache-2.0
#include "metrics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/matrix.h"
#include "core/random.h"

namespace lime {
namespace {

constexpr std::int64_t kMeansBytes = std::int64_t{64} << 20;
constexpr auto kBytesPerMean = static_cast<std::int64_t>(sizeof(double));

std::int64_t samples_at_once(std::int64_t resamples) {
  return std::max<std::int64_t>(1, kMeansBytes / (kBytesPerMean * resamples));
}

/// Returns the resampled means of every sample, [samples, resamples], each summed in draw order.
MatrixD resampled_means(std::span<const std::vector<double>> samples,
                        const SummaryOptions& options) {
  const auto num_samples = static_cast<Eigen::Index>(samples.size());
  const auto size = static_cast<Eigen::Index>(samples.front().size());
  MatrixD items(size, num_samples);  // an item of all samples, contiguous
  for (Eigen::Index j = 0; j < num_samples; ++j) {
    items.col(j) = Eigen::Map<const VectorD>(samples[static_cast<std::size_t>(j)].data(), size);
  }
  const Random root(options.seed);
  MatrixD means(num_samples, options.resamples);
  VectorD sums(num_samples);
  for (Eigen::Index r = 0; r < means.cols(); ++r) {
    Random random = root.fork(static_cast<std::uint64_t>(r));
    sums.setZero();
    for (Eigen::Index i = 0; i < size; ++i) {
      const std::uint64_t drawn = random.below(static_cast<std::uint64_t>(size));
      const double* const item = items.data() + static_cast<Eigen::Index>(drawn) * num_samples;
      for (Eigen::Index j = 0; j < num_samples; ++j) sums(j) += item[j];
    }
    means.col(r) = sums / static_cast<double>(size);
  }
  return means;
}

Summary moments_of(std::span<const double> values) {
  if (values.empty()) throw InvalidArgument("summary: needs at least one value, got none");
  for (std::size_t i = 0; i < values.size(); ++i) {
    throw_if(!std::isfinite(values[i]), "summary: values must be finite, got {} at index {}",
             values[i], i);
  }
  Summary summary;
  summary.n = static_cast<std::int64_t>(values.size());
  summary.mean = mean_of(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.std = std::sqrt(squares / static_cast<double>(summary.n));
  summary.ci_low = std::numeric_limits<double>::quiet_NaN();
  summary.ci_high = summary.ci_low;
  return summary;
}

/// @param means  resampled, sorted here.
void set_interval(Summary& summary, std::span<double> means, double confidence) {
  std::ranges::sort(means);
  summary.ci_low = quantile(means, 0.5 * (1.0 - confidence));
  summary.ci_high = quantile(means, 0.5 * (1.0 + confidence));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// 1 - r^2 below this is a rounding error.
constexpr double kRoundingNoise = 1e-12;

}  // namespace

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

void SummaryOptions::describe(OptionList& list, const std::string& name) {
  list.group("Interval");
  list.add("bootstrap", resamples,
           fmt::format("bootstrap resamples for the {}, 100 to 10000000; 0: no interval", name));
  list.add("confidence", confidence, "confidence level of the interval, in (0, 1)");
}

void SummaryOptions::validate(const std::string& resamples_name) const {
  check_option(confidence > 0.0 && confidence < 1.0, "confidence", "in (0, 1)", confidence);
  throw_if(resamples != 0 && resamples < kFewestResamples, OptionName(resamples_name),
           "must be >= {}, or 0 for no interval, got {}", kFewestResamples, resamples);
  throw_if(resamples > kMaxResamples, OptionName(resamples_name), "must be <= {}, got {}",
           kMaxResamples, resamples);
}

Summary summarize(std::span<const double> values, const SummaryOptions& options) {
  const std::vector<double> sample(values.begin(), values.end());
  return summarize_together({&sample, 1}, options).front();
}

std::vector<Summary> summarize_together(std::span<const std::vector<double>> samples,
                                        const SummaryOptions& options) {
  options.validate();
  std::vector<Summary> summaries;
  for (const std::vector<double>& sample : samples) {
    throw_if(sample.size() != samples.front().size(),
             "summary: samples must have the same size, got {} and {}", samples.front().size(),
             sample.size());
    summaries.push_back(moments_of(sample));
  }
  if (summaries.empty() || summaries.front().n < 2 || options.resamples == 0) return summaries;
  const auto at_once = static_cast<std::size_t>(samples_at_once(options.resamples));
  for (std::size_t first = 0; first < samples.size(); first += at_once) {
    const std::size_t count = std::min(at_once, samples.size() - first);
    MatrixD means = resampled_means(samples.subspan(first, count), options);
    for (std::size_t i = 0; i < count; ++i) {
      double* const own = means.row(static_cast<Eigen::Index>(i)).data();
      set_interval(summaries[first + i], {own, static_cast<std::size_t>(options.resamples)},
                   options.confidence);
    }
  }
  return summaries;
}

std::int64_t summary_bytes(std::int64_t num_samples, const SummaryOptions& options) {
  if (options.resamples == 0) return 0;
  return std::min(num_samples, samples_at_once(options.resamples)) * options.resamples *
         kBytesPerMean;
}

std::vector<Block> cut_into_blocks(std::int64_t num_items, std::int64_t num_blocks) {
  throw_if(num_blocks < kFewestBlocks || num_items < num_blocks,
           "jackknife: number of blocks must be in [{}, {}], at most the number of items, got {}",
           kFewestBlocks, num_items, num_blocks);
  std::vector<Block> blocks;
  for (std::int64_t g = 0; g < num_blocks; ++g) {
    blocks.push_back({g * num_items / num_blocks, (g + 1) * num_items / num_blocks});
  }
  return blocks;
}

Jackknife jackknife(double all, std::span<const double> without, double confidence) {
  const auto count = static_cast<std::int64_t>(without.size());
  throw_if(count < kFewestBlocks, "jackknife: needs at least {} blocks, got {}", kFewestBlocks,
           count);
  const bool finite =
      std::isfinite(all) && std::ranges::all_of(without, [](double v) { return std::isfinite(v); });
  if (!finite) throw InvalidArgument("jackknife: values must be finite");
  const auto blocks = static_cast<double>(count);
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / blocks;
  Jackknife result;
  double squares = 0.0;
  for (const double value : without) {
    squares += (value - mean) * (value - mean);
    result.pseudo_values.push_back(blocks * all - (blocks - 1.0) * value);
  }
  result.standard_error = std::sqrt((blocks - 1.0) / blocks * squares);
  const double reach = student_quantile(0.5 + confidence / 2.0, count - 1) * result.standard_error;
  result.ci_low = all - reach;
  result.ci_high = all + reach;
  return result;
}

double normal_quantile(double probability) {
  throw_if(!(probability > 0.0 && probability < 1.0),
           "normal_quantile: the probability must be in (0, 1), got {}", probability);
  // Newton's method on the convex side, from the centre outwards, for the left tail.
  const double tail = std::min(probability, 1.0 - probability);
  double x = 0.0;
  for (int step = 0; step < 200; ++step) {
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    // Newton in log(below) keeps the steps stable far out in the tail.
    const double change = below / density * std::log(below / tail);
    x -= change;
    if (std::abs(change) <= 1e-15 * std::max(1.0, std::abs(x))) break;
  }
  return probability < 0.5 ? x : -x;
}

double student_quantile(double probability, std::int64_t degrees_of_freedom) {
  const double twice = 2.0 * probability - 1.0;
  if (degrees_of_freedom == 1) return std::tan(0.5 * std::numbers::pi * twice);
  if (degrees_of_freedom == 2) return twice * std::sqrt(2.0 / (1.0 - twice * twice));
  if (degrees_of_freedom == 3) {
    // P(|T| < t) = 2 / pi (theta + sin theta cos theta), tan theta = t / sqrt(3).
    double low = -0.5 * std::numbers::pi;
    double high = -low;
    for (int i = 0; i < 100; ++i) {
      const double theta = 0.5 * (low + high);
      const double p = 2.0 / std::numbers::pi * (theta + std::sin(theta) * std::cos(theta));
      (p < twice ? low : high) = theta;
    }
    return std::sqrt(3.0) * std::tan(0.5 * (low + high));
  }
  const double z = normal_quantile(probability);
  const double n = static_cast<double>(degrees_of_freedom);
  const double z2 = z * z;
  const double g1 = (z2 + 1.0) * z / 4.0;
  const double g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
  const double g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
  const double g4 =
      ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92160.0;
  return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = 0.5 * static_cast<double>(i + 1 + end);
    i = end;
  }
  return ranks;
}

double pearson_correlation(std::span<const double> x, std::span<const double> y) {
  throw_if(x.size() != y.size() || x.size() < 2,
           "correlation: needs two samples of equal size >= 2, got {} and {}", x.size(), y.size());
  const auto mean = [](std::span<const double> values) {
    for (const double value : values) {
      if (!std::isfinite(value)) throw InvalidArgument("correlation: values must be finite");
    }
    return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
  };
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - x_mean) * (y[i] - y_mean);
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
  }
  if (!(xx > 0.0 && yy > 0.0)) return kNan;
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

double spearman_correlation(std::span<const double> x, std::span<const double> y) {
  return pearson_correlation(average_ranks(x), average_ranks(y));
}

double partial_spearman_correlation(std::span<const double> x, std::span<const double> y,
                                    std::span<const double> z) {
  const double xy = spearman_correlation(x, y);
  const double xz = spearman_correlation(x, z);
  const double yz = spearman_correlation(y, z);
  const double rest_x = 1.0 - xz * xz;
  const double rest_y = 1.0 - yz * yz;
  if (!(rest_x > kRoundingNoise && rest_y > kRoundingNoise)) return kNan;
  return std::clamp((xy - xz * yz) / std::sqrt(rest_x * rest_y), -1.0, 1.0);
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/matrix.h"
#include "core/random.h"
#include "metrics/quantiles.h"

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

}  // namespace

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
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

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/spectrum.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "metrics/rows.h"

namespace lime {
namespace {

/// Smaller singular values from a Gram matrix in double are rounding errors.
constexpr double kSmallestTolerance = 1e-7;

/// Returns the largest min(rows, dim) singular values, descending.
std::vector<double> singular_values(std::span<const double> eigenvalues, std::int64_t count) {
  std::vector<double> values;
  for (const double eigenvalue : eigenvalues) {
    throw_if(!std::isfinite(eigenvalue), "spectrum: eigenvalues must be finite, got {}",
             eigenvalue);
    values.push_back(std::sqrt(std::max(eigenvalue, 0.0)));
  }
  std::ranges::sort(values, std::greater<>());
  if (static_cast<std::int64_t>(values.size()) > count) {
    values.resize(static_cast<std::size_t>(count));
  }
  return values;
}

double weighted_mean(const std::vector<double>& values, std::int64_t first) {
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = 1.0 / static_cast<double>(first + static_cast<std::int64_t>(i));
    sum += weight * values[i];
    weights += weight;
  }
  return sum / weights;
}

/// Fits alpha and r2 to the singular values `sigma`, descending.
PowerLaw fit_range(const std::vector<double>& sigma, const PowerLawRange& range) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::int64_t j = range.first; j <= range.last; ++j) {
    x.push_back(std::log(static_cast<double>(j)));
    y.push_back(2.0 * std::log(sigma[static_cast<std::size_t>(j - 1)]));
  }
  const double x_mean = weighted_mean(x, range.first);
  const double y_mean = weighted_mean(y, range.first);
  const double plain_mean = std::reduce(y.begin(), y.end()) / static_cast<double>(y.size());
  std::vector<double> xx;
  std::vector<double> xy;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx.push_back((x[i] - x_mean) * (x[i] - x_mean));
    xy.push_back((x[i] - x_mean) * (y[i] - y_mean));
  }
  PowerLaw law;
  law.alpha = -weighted_mean(xy, range.first) / weighted_mean(xx, range.first);
  double residual = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double fitted = y_mean - law.alpha * (x[i] - x_mean);
    residual += (y[i] - fitted) * (y[i] - fitted);
    total += (y[i] - plain_mean) * (y[i] - plain_mean);
  }
  law.r2 = total > 0.0 ? 1.0 - residual / total : 1.0;
  return law;
}

double minus_p_log_p(double p) { return p > 0.0 ? -p * std::log(p) : 0.0; }

/// A centred trace below this fraction of the raw one is a rounding error.
constexpr double kRoundingNoise = 1e-14;

/// Computes target += factor v v^T. @param v  [target.size()]
void add_rank_one(linalg::SymmetricPanels& target, const VectorD& v, double factor) {
  VectorD padded = VectorD::Zero(target.padded_size());
  padded.head(v.size()) = v;
  for (std::int64_t s = 0; s < target.num_panels(); ++s) {
    double* to = target.panel(s);
    const double* const rows = padded.data() + s * linalg::kPanelRows<double>;
    for (std::int64_t col = 0; col < linalg::kPanelRows<double> * (s + 1); ++col) {
      const double scale = factor * padded[col];
      for (int r = 0; r < linalg::kPanelRows<double>; ++r) *to++ += scale * rows[r];
    }
  }
}

}  // namespace

RowMoments::RowMoments(VectorD shift)
    : shift_(std::move(shift)), sum_(VectorD::Zero(shift_.size())) {
  gram_.resize(shift_.size());
  gram_.values().setZero();
}

RowMoments::RowMoments(VectorD shift, std::int64_t count, VectorD sum, const ConstMatrixRefD& gram)
    : RowMoments(std::move(shift)) {
  const std::int64_t dim = shift_.size();
  throw_if(sum.size() != dim || gram.rows() != dim || gram.cols() != dim,
           "moments: sum and Gram matrix must have {} dimensions, got {}, {} x {}", dim, sum.size(),
           gram.rows(), gram.cols());
  count_ = count;
  sum_ = std::move(sum);
  for (std::int64_t row = 0; row < dim; ++row) {
    for (std::int64_t col = 0; col <= row; ++col) {
      gram_.at(row, col) = gram(row, col);
      // Blocks on the diagonal are stored whole.
      if (col / linalg::kPanelRows<double> == row / linalg::kPanelRows<double>)
        gram_.at(col, row) = gram(row, col);
    }
  }
}

void RowMoments::add(const ConstMatrixRef& rows) {
  throw_if(rows.cols() != shift_.size(), "moments: rows must have {} dimensions, got {}",
           shift_.size(), rows.cols());
  linalg::AffineRows<float> shifted = linalg::affine_rows(rows);
  shifted.shift = shift_.data();
  builder_.add_feature_gram(shifted, gram_);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    sum_ += rows.row(r).transpose().cast<double>() - shift_;
  }
  count_ += rows.rows();
}

void RowMoments::merge(const RowMoments& other) {
  gram_.values() += other.gram_.values();
  sum_ += other.sum_;
  count_ += other.count_;
}

VectorD RowMoments::mean() const { return shift_ + sum_ / static_cast<double>(count_); }

linalg::SymmetricPanels RowMoments::centred_gram() const {
  linalg::SymmetricPanels result;
  result.resize(gram_.size());
  result.values() = gram_.values();
  add_rank_one(result, sum_, -1.0 / static_cast<double>(count_));
  return result;
}

linalg::SymmetricPanels RowMoments::raw_gram() const {
  linalg::SymmetricPanels result = centred_gram();
  add_rank_one(result, mean(), static_cast<double>(count_));
  return result;
}

void PowerLawRange::validate() const {
  check_option(first >= 1, "power_law_first", ">= 1", first);
  throw_if(last < first + 3, OptionName("power_law_last"),
           "must be at least {}, because a range has 4 eigenvalues or more, got {}", first + 3,
           last);
}

PowerLaw fit_power_law(std::span<const double> eigenvalues, std::int64_t dim,
                       const PowerLawRange& range) {
  range.validate();
  const std::vector<double> sigma = singular_values(eigenvalues, std::ssize(eigenvalues));
  std::int64_t rank = 0;
  const double noise = static_cast<double>(dim) * std::numeric_limits<float>::epsilon();
  for (const double value : sigma) rank += value > noise * sigma.front() ? 1 : 0;
  throw_if(
      range.last > rank, OptionName("power_law_last"),
      "must be at most {}, the rank of the covariance, got {}; use a smaller range, or more rows",
      rank, range.last);
  PowerLaw law = fit_range(sigma, range);
  const auto middle = std::clamp(
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(range.first * range.last))),
      range.first + 1, range.last - 2);
  law.head = fit_range(sigma, {range.first, middle}).alpha;
  law.tail = fit_range(sigma, {middle + 1, range.last}).alpha;
  return law;
}

void SpectrumOptions::validate() const {
  if (power_law) power_law->validate();
  check_option(rankme_epsilon >= 0.0 && rankme_epsilon < 1.0, "rankme_epsilon", "in [0, 1)",
               rankme_epsilon);
  if (rank_tolerance && !(*rank_tolerance >= kSmallestTolerance && *rank_tolerance < 1.0)) {
    throw InvalidArgument(OptionName("rank_tolerance"),
                          "must be in [{}, 1), got {}; smaller singular values are rounding noise",
                          kSmallestTolerance, *rank_tolerance);
  }
}

double participation_ratio(double trace, double squared_norm) {
  const double ratio = trace * trace / squared_norm;
  throw_if(!(trace > 0.0) || !std::isfinite(ratio),
           "participation ratio: the matrix must be finite and not zero");
  return ratio;
}

SpectrumMeasures measure_spectrum(std::span<const double> eigenvalues, std::int64_t rows,
                                  std::int64_t dim, const SpectrumOptions& options) {
  options.validate();
  const std::vector<double> sigma = singular_values(eigenvalues, std::min(rows, dim));
  throw_if(sigma.empty() || sigma.front() <= 0.0,
           "spectrum: the matrix must not be zero, got no eigenvalue above 0");
  double sum = 0.0;
  for (const double value : sigma) sum += value;
  const double tolerance =
      options.rank_tolerance.value_or(static_cast<double>(std::max(rows, dim)) *
                                      static_cast<double>(std::numeric_limits<float>::epsilon()));
  SpectrumMeasures measures;
  double entropy = 0.0;
  double rankme_entropy = 0.0;
  double squares = 0.0;
  for (const double value : sigma) {
    const double q = value / sum;
    const double relative = value / sigma.front();
    entropy += minus_p_log_p(q);
    rankme_entropy += minus_p_log_p(q + options.rankme_epsilon);
    squares += relative * relative;
    if (relative > tolerance) measures.numerical_rank += 1.0;
  }
  measures.effective_rank = std::exp(entropy);
  measures.rankme = std::exp(rankme_entropy);
  measures.stable_rank = squares;
  return measures;
}

namespace {

/// Returns false if the centred part is a rounding error.
bool has_spread(const GramSummary& raw, const GramSummary& centred) {
  return centred.trace > kRoundingNoise * raw.trace;
}

}  // namespace

MeasuredSpectrum measure_grams(const GramSummary& raw, const GramSummary& centred,
                               std::int64_t rows, std::int64_t dim, Centering centering,
                               const SpectrumOptions& options) {
  const auto defined = [&](bool is_centred) {
    return is_centred ? has_spread(raw, centred) : raw.trace > 0.0;
  };
  MeasuredSpectrum result;
  const bool centres_ratio = centering != Centering::kNever;
  if (defined(centres_ratio)) {
    const GramSummary& gram = centres_ratio ? centred : raw;
    result.participation_ratio = participation_ratio(gram.trace, gram.squared_norm);
  }
  const bool centres_ranks = uses_centred_ranks(centering);
  if (defined(centres_ranks)) {
    result.ranks =
        measure_spectrum((centres_ranks ? centred : raw).eigenvalues, rows, dim, options);
  }
  return result;
}

MeasuredSpectrum SpectrumMeter::measure(const RowMoments& moments) {
  linalg::SymmetricPanels raw = moments.raw_gram();
  linalg::SymmetricPanels centred = moments.centred_gram();
  return measure_grams(raw, centred, moments.count(), moments.dim());
}

MeasuredSpectrum SpectrumMeter::measure(const ConstMatrixRef& rows) {
  const VectorD mean = mean_row(rows);
  linalg::AffineRows<float> view = linalg::affine_rows(rows);
  builder_.smaller_gram(view, raw_);
  view.shift = mean.data();
  builder_.smaller_gram(view, centred_);
  return measure_grams(raw_, centred_, rows.rows(), rows.cols());
}

MeasuredSpectrum SpectrumMeter::measure_grams(linalg::SymmetricPanels& raw,
                                              linalg::SymmetricPanels& centred, std::int64_t rows,
                                              std::int64_t dim) {
  GramSummary of_raw{.trace = linalg::trace(raw), .eigenvalues = {}};
  GramSummary of_centred{.trace = linalg::trace(centred), .eigenvalues = {}};
  const bool spreads = has_spread(of_raw, of_centred);
  const bool centres_ranks = uses_centred_ranks(centering_);
  const bool fits_law = options_.power_law && spreads;
  of_raw.squared_norm = linalg::inner_product(raw, raw);
  of_centred.squared_norm = linalg::inner_product(centred, centred);
  if (centres_ranks ? spreads : of_raw.trace > 0.0) {
    // Overwrites the matrix: the eigenvalues of the centred one serve both.
    (centres_ranks ? of_centred : of_raw).eigenvalues =
        solver_.compute(centres_ranks ? centred : raw);
  }
  MeasuredSpectrum result =
      lime::measure_grams(of_raw, of_centred, rows, dim, centering_, options_);
  if (fits_law) {
    const std::span<const double> eigenvalues =
        centres_ranks ? of_centred.eigenvalues : solver_.compute(centred);
    result.power_law = fit_power_law(eigenvalues, dim, *options_.power_law);
  }
  return result;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/spectrum.h"

#include <cmath>
#include <limits>

#include "metrics/rows.h"

namespace lime {
namespace {

/// Smaller singular values from a Gram matrix in double are rounding errors.
constexpr double kSmallestTolerance = 1e-7;

double minus_p_log_p(double p) { return p > 0.0 ? -p * std::log(p) : 0.0; }

/// A centred trace below this fraction of the raw one is a rounding error.
constexpr double kRoundingNoise = 1e-14;

}  // namespace

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

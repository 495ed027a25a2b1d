// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/spectrum_meter.h"

namespace lime {
namespace {

/// A centred trace below this fraction of the raw one is a rounding error.
constexpr double kRoundingNoise = 1e-14;

}  // namespace

MeasuredSpectrum SpectrumMeter::measure(const RowMoments& moments) {
  linalg::SymmetricSlivers raw = moments.raw_gram();
  linalg::SymmetricSlivers centred = moments.centred_gram();
  return measure_grams(raw, centred, moments.count(), moments.dim());
}

MeasuredSpectrum SpectrumMeter::measure(const ConstMatrixRef& rows) {
  VectorD mean = VectorD::Zero(rows.cols());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) mean += rows.row(r).transpose().cast<double>();
  mean /= static_cast<double>(rows.rows());
  linalg::AffineRows<float> view{.x = rows.data(),
                                 .num_rows = rows.rows(),
                                 .num_cols = rows.cols(),
                                 .row_stride = rows.outerStride()};
  builder_.smaller_gram(view, raw_);
  view.shift = mean.data();
  builder_.smaller_gram(view, centred_);
  return measure_grams(raw_, centred_, rows.rows(), rows.cols());
}

MeasuredSpectrum SpectrumMeter::measure_grams(linalg::SymmetricSlivers& raw,
                                              linalg::SymmetricSlivers& centred, std::int64_t rows,
                                              std::int64_t dim) {
  const double raw_trace = linalg::trace(raw);
  const double centred_trace = linalg::trace(centred);
  const bool spreads = centred_trace > kRoundingNoise * raw_trace;
  const auto defined = [&](bool is_centred) { return is_centred ? spreads : raw_trace > 0.0; };
  MeasuredSpectrum result;
  const bool centres_ratio = centering_ != Centering::kNever;
  if (defined(centres_ratio)) {
    const linalg::SymmetricSlivers& gram = centres_ratio ? centred : raw;
    result.participation_ratio = participation_ratio(centres_ratio ? centred_trace : raw_trace,
                                                     linalg::inner_product(gram, gram));
  }
  const bool centres_ranks = centering_ == Centering::kAlways;
  if (defined(centres_ranks)) {
    result.ranks =
        measure_spectrum(solver_.compute(centres_ranks ? centred : raw), rows, dim, options_);
  }
  return result;
}

}  // namespace lime

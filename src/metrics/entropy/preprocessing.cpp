// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/preprocessing.h"

#include <cmath>

namespace lime {
namespace {

void check_statistics(const RunningStatistics& statistics) {
  throw_if(statistics.count < 2,
           "standardize: the statistics must come from at least 2 rows, got {}", statistics.count);
  throw_if(statistics.mean.size() != statistics.m2.size(),
           "standardize: mean and m2 must have the same size, got {} and {}",
           statistics.mean.size(), statistics.m2.size());
  for (Eigen::Index c = 0; c < statistics.mean.size(); ++c) {
    throw_if(
        !std::isfinite(statistics.mean[c]) || !std::isfinite(statistics.m2[c]) ||
            statistics.m2[c] < 0.0,
        "standardize: mean must be finite and m2 >= 0 and finite, got {} and {} at dimension {}; "
        "the data set contains NaN or infinity",
        statistics.mean[c], statistics.m2[c], c);
  }
}

}  // namespace

Standardization make_standardization(const RunningStatistics& statistics, double epsilon) {
  check_statistics(statistics);
  throw_if(!(epsilon > 0.0) || !std::isfinite(epsilon), "standardize: epsilon must be > 0, got {}",
           epsilon);
  const double degrees = static_cast<double>(statistics.count - 1);
  return {statistics.mean, ((statistics.m2.array() / degrees).sqrt() + epsilon).matrix()};
}

MatrixD standardize(const ConstMatrixRef& rows, const Standardization& standardization) {
  throw_if(
      standardization.mean.size() != rows.cols() || standardization.divisor.size() != rows.cols(),
      "standardize: the rows have {} dimensions, but the statistics have {}", rows.cols(),
      standardization.mean.size());
  return ((rows.cast<double>().rowwise() - standardization.mean.transpose()).array().rowwise() /
          standardization.divisor.transpose().array())
      .matrix();
}

template <typename Scalar>
void check_finite(const linalg::AffineRows<Scalar>& rows) {
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    for (std::int64_t c = 0; c < rows.num_cols; ++c) {
      const Scalar value = rows.x[r * rows.row_stride + c];
      if (std::isfinite(value)) continue;
      throw InvalidArgument(
          "representations must be finite, got {} at token {}, dimension {}; check the model for "
          "overflow, or capture in a wider type",
          value, r, c);
    }
  }
}

template <typename Scalar>
void check_trace(const linalg::AffineRows<Scalar>& rows, double trace) {
  if (!std::isfinite(trace)) {
    check_finite(rows);
    throw NumericalError("the sum of the squared representations must be finite, got {}", trace);
  }
  if (trace > 0.0) return;
  throw InvalidArgument("representations must not all be zero{}, got {} x {} zeros",
                        rows.shift == nullptr ? "" : " after their mean is subtracted",
                        rows.num_rows, rows.num_cols);
}

EntropyPreprocessing::EntropyPreprocessing(EntropyPreset preset,
                                           const std::optional<Standardization>& standardization)
    : preset_(preset) {
  if (!needs_standardization(preset)) return;
  throw_if(!standardization,
           "{}: needs the mean and standard deviation of the data set; use the statistics of the "
           "capture, or another preset",
           enum_name(preset));
  shift_ = standardization->mean;
  column_scale_ = standardization->divisor.cwiseInverse();
}

template <typename Scalar>
void EntropyPreprocessing::apply(linalg::AffineRows<Scalar>& rows) {
  throw_if(rows.num_rows < 1 || rows.num_cols < 1,
           "needs at least one token and one dimension, got {} x {}", rows.num_rows, rows.num_cols);
  switch (preset_) {
    case EntropyPreset::kRaw:
    case EntropyPreset::kSeqVcr:
      return;
    case EntropyPreset::kLimeCode:
      throw_if(shift_.size() != rows.num_cols,
               "representations have {} dimensions, but the statistics have {}", rows.num_cols,
               shift_.size());
      rows.shift = shift_.data();
      rows.column_scale = column_scale_.data();
      return;
    case EntropyPreset::kLayerByLayer:
    case EntropyPreset::kMatrixEntropy:
    case EntropyPreset::kDiffErank:
      centre_and_normalize(rows);
      return;
  }
}

template <typename Scalar>
void EntropyPreprocessing::centre_and_normalize(linalg::AffineRows<Scalar>& rows) {
  shift_ = VectorD::Zero(rows.num_cols);
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    const Scalar* const row = rows.x + r * rows.row_stride;
    for (std::int64_t c = 0; c < rows.num_cols; ++c) shift_[c] += static_cast<double>(row[c]);
  }
  shift_ /= static_cast<double>(rows.num_rows);
  rows.shift = shift_.data();
  row_scale_.resize(rows.num_rows);
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    double squares = 0.0;
    for (std::int64_t c = 0; c < rows.num_cols; ++c) squares += rows.at(r, c) * rows.at(r, c);
    const double norm = std::sqrt(squares);
    if (!std::isfinite(norm)) check_finite(rows);
    throw_if(!(norm > 0.0),
             "{}: divides every token by its distance from the mean token, which is 0 for token {}",
             enum_name(preset_), r);
    row_scale_[r] = 1.0 / norm;
  }
  rows.row_scale = row_scale_.data();
}

template void EntropyPreprocessing::apply(linalg::AffineRows<float>&);
template void EntropyPreprocessing::apply(linalg::AffineRows<double>&);
template void check_finite(const linalg::AffineRows<float>&);
template void check_finite(const linalg::AffineRows<double>&);
template void check_trace(const linalg::AffineRows<float>&, double);
template void check_trace(const linalg::AffineRows<double>&, double);

}  // namespace lime

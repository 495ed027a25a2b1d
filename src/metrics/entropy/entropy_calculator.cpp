// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/entropy_calculator.h"

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

using linalg::AffineRows;

bool has_power_sum(double alpha) { return alpha == 2.0 || alpha == 3.0 || alpha == 4.0; }

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

template <typename Scalar> void check_finite(const linalg::AffineRows<Scalar>& rows) {
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

template <typename Scalar> void check_trace(const linalg::AffineRows<Scalar>& rows, double trace) {
  if (!std::isfinite(trace)) {
    if (rows.x != nullptr) check_finite(rows);
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

template <typename Scalar> void EntropyPreprocessing::apply(linalg::AffineRows<Scalar>& rows) {
  throw_if(rows.num_rows < 1 || rows.num_cols < 1,
           "needs at least one token and one dimension, got {} x {}", rows.num_rows, rows.num_cols);
  switch (preset_info(preset_).rows) {
    case EntropyRows::kUnchanged: return;
    case EntropyRows::kStandardized:
      throw_if(shift_.size() != rows.num_cols,
               "representations have {} dimensions, but the statistics have {}", rows.num_cols,
               shift_.size());
      rows.shift = shift_.data();
      rows.column_scale = column_scale_.data();
      return;
    case EntropyRows::kCentredToUnit:
    case EntropyRows::kCentredClamped: centre_and_normalize(rows); return;
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

Eigen::RowVectorXf pooled_token(const MatrixF& tokens, bool last, EntropyPreset preset) {
  MatrixD prepared = tokens.cast<double>();
  if (preset_info(preset).pools_preprocessed) {
    linalg::AffineRows<double> rows = linalg::affine_rows(prepared);
    EntropyPreprocessing preprocessing(preset, {});
    preprocessing.apply(rows);
    rows.copy_to(prepared);
  }
  if (last) return prepared.bottomRows<1>().cast<float>();
  return prepared.colwise().mean().cast<float>();
}

template void EntropyPreprocessing::apply(linalg::AffineRows<float>&);
template void EntropyPreprocessing::apply(linalg::AffineRows<double>&);
template void check_finite(const linalg::AffineRows<float>&);
template void check_finite(const linalg::AffineRows<double>&);
template void check_trace(const linalg::AffineRows<float>&, double);
template void check_trace(const linalg::AffineRows<double>&, double);

EntropyCalculator::EntropyCalculator(const EntropyOptions& options,
                                     const std::optional<Standardization>& standardization)
    : options_(options),
      orders_(options.orders()),
      preprocessing_(options.is_preprocessed ? EntropyPreset::kRaw : options.preset,
                     standardization) {
  options.validate();
}

template <typename Scalar> SequenceEntropy EntropyCalculator::compute(AffineRows<Scalar> rows) {
  PendingEntropy pending = begin(rows);
  return finish({&pending, 1}).front();
}

template <typename Scalar> PendingEntropy EntropyCalculator::begin(AffineRows<Scalar> rows) {
  preprocessing_.apply(rows);
  PendingEntropy pending;
  pending.num_tokens = rows.num_rows;
  pending.dim = rows.num_cols;
  if (options_.top_k) {
    pending.entropy = compute_leading(rows);
  } else {
    gram_builder_.smaller_gram(rows, gram_);
    pending.trace = linalg::trace(gram_);
    check_trace(rows, pending.trace);
    begin_all(pending);
  }
  return pending;
}

std::vector<SequenceEntropy> EntropyCalculator::finish(std::span<PendingEntropy> pending) {
  std::vector<linalg::Tridiagonal*> waiting;
  for (PendingEntropy& sequence : pending) {
    if (!sequence.tridiagonal.diagonal.empty()) waiting.push_back(&sequence.tridiagonal);
  }
  for (const std::int64_t missing : tridiagonal_eigenvalues_.compute(waiting)) {
    if (missing == 0) continue;
    throw NumericalError("eigenvalues: {} of a Gram matrix did not converge", missing);
  }
  std::vector<SequenceEntropy> results;
  for (PendingEntropy& sequence : pending) {
    if (!sequence.tridiagonal.diagonal.empty()) sequence.entropy.values = entropies_of(sequence);
    to_preset_unit(sequence);
    results.push_back(std::move(sequence.entropy));
  }
  return results;
}

void EntropyCalculator::to_preset_unit(PendingEntropy& pending) const {
  SequenceEntropy& result = pending.entropy;
  for (std::vector<double>* values : {&result.values, &result.lower, &result.upper}) {
    for (double& value : *values) {
      value = in_preset_unit(value, pending.num_tokens, pending.dim, options_);
    }
  }
  for (std::size_t i = 0; i < result.lower.size(); ++i) {
    result.values.push_back(0.5 * (result.lower[i] + result.upper[i]));
  }
}

void EntropyCalculator::begin_all(PendingEntropy& pending) {
  if (clamps_gram(options_.preset)) {
    linalg::clamp_elements(gram_);
    pending.squared_norm = linalg::inner_product(gram_, gram_);
    if (!needs_eigenvalues(orders_)) {
      pending.entropy.values = entropies_of(pending);
      return;
    }
  } else if (std::ranges::all_of(orders_, has_power_sum)) {
    pending.entropy.values = entropies_without_eigenvalues(pending.trace);
    return;
  }
  eigenvalues_.reduce(gram_, pending.tridiagonal);
}

/// Computes orders 2, 3 and 4 from tr(K^2) = <K, K>, tr(K^3) = <K^2, K>, tr(K^4) = <K^2, K^2>.
std::vector<double> EntropyCalculator::entropies_without_eigenvalues(double trace) {
  if (std::ranges::any_of(orders_, [](double alpha) { return alpha > 2.0; })) {
    gram_builder_.square(gram_, squared_gram_);
  }
  std::vector<double> entropies;
  for (const double alpha : orders_) {
    const auto& left = alpha == 2.0 ? gram_ : squared_gram_;
    const auto& right = alpha == 4.0 ? squared_gram_ : gram_;
    const double power_sum = linalg::inner_product(left, right);
    entropies.push_back((std::log(power_sum) - alpha * std::log(trace)) / (1.0 - alpha));
  }
  return entropies;
}

std::vector<double> EntropyCalculator::entropies_of(const PendingEntropy& pending) const {
  return lime::entropies_of({.num_tokens = pending.num_tokens,
                             .dim = pending.dim,
                             .trace = pending.trace,
                             .squared_norm = pending.squared_norm,
                             .eigenvalues = pending.tridiagonal.diagonal},
                            options_);
}

template <typename Scalar>
SequenceEntropy EntropyCalculator::compute_leading(const AffineRows<Scalar>& rows) {
  rows.copy_to(representations_);
  const double total = representations_.squaredNorm();
  check_trace(rows, total);
  const std::int64_t size = std::min(rows.num_rows, rows.num_cols);
  const std::int64_t count = std::min(*options_.top_k, size);
  std::optional<std::vector<double>> leading = leading_gram_eigenvalues(representations_, count);
  if (!leading) {
    gram_builder_.smaller_gram(rows, gram_);
    const std::span<const double> all = eigenvalues_.compute(gram_);
    leading.emplace(all.rbegin(), all.rbegin() + count);
    for (double& value : *leading) value = std::max(value, 0.0);
  }
  SequenceEntropy result;
  for (const double alpha : orders_) {
    const EntropyBounds bounds = entropy_bounds(*leading, total, size, alpha);
    result.lower.push_back(bounds.lower);
    result.upper.push_back(bounds.upper);
  }
  double accounted = 0.0;
  for (const double value : *leading) accounted += value;
  result.left_out = std::clamp(1.0 - accounted / total, 0.0, 1.0);
  return result;
}

template SequenceEntropy EntropyCalculator::compute(AffineRows<float>);
template SequenceEntropy EntropyCalculator::compute(AffineRows<double>);
template PendingEntropy EntropyCalculator::begin(AffineRows<float>);
template PendingEntropy EntropyCalculator::begin(AffineRows<double>);

}  // namespace lime

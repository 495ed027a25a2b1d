// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/entropy_calculator.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/errors.h"
#include "metrics/entropy/leading_eigenvalues.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/entropy/spectrum_bounds.h"

namespace lime {
namespace {

using linalg::AffineRows;

/// Names the first value that is not finite; called when the trace shows that there is one.
template <typename Scalar>
void check_finite(const AffineRows<Scalar>& rows) {
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    for (std::int64_t c = 0; c < rows.num_cols; ++c) {
      const Scalar value = rows.x[r * rows.row_stride + c];
      if (!std::isfinite(value)) {
        throw InvalidArgument(
            "representations must be finite, got {} at token {}, dimension {}; look for overflow "
            "in the model, or capture in a wider type",
            value, r, c);
      }
    }
  }
}

template <typename Scalar>
void check_trace(const AffineRows<Scalar>& rows, double trace) {
  if (!std::isfinite(trace)) {
    check_finite(rows);
    throw NumericalError("the sum of the squared representations must be finite, got {}", trace);
  }
  if (trace > 0.0) return;
  throw InvalidArgument("representations must not all be zero{}, got {} x {} zeros",
                        rows.shift == nullptr ? "" : " after their mean is subtracted",
                        rows.num_rows, rows.num_cols);
}

template <typename Scalar>
double squared_norm(const AffineRows<Scalar>& rows) {
  double sum = 0.0;
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    for (std::int64_t c = 0; c < rows.num_cols; ++c) {
      const double z = rows.at(r, c);
      sum += z * z;
    }
  }
  return sum;
}

bool has_power_sum(double alpha) { return alpha == 2.0 || alpha == 3.0 || alpha == 4.0; }

}  // namespace

EntropyCalculator::EntropyCalculator(const EntropyOptions& options,
                                     const std::optional<Standardization>& standardization)
    : options_(options), orders_(options.orders()) {
  options.validate();
  if (!needs_standardization(options.preset)) return;
  if (!standardization) {
    throw InvalidArgument(
        "{}: needs the mean and standard deviation of the data set; use the statistics of the "
        "capture, or another preset",
        enum_name(options.preset));
  }
  shift_ = standardization->mean;
  column_scale_ = standardization->divisor.cwiseInverse();
}

template <typename Scalar>
SequenceEntropy EntropyCalculator::compute(AffineRows<Scalar> rows) {
  PendingEntropy pending = begin(rows);
  return finish({&pending, 1}).front();
}

template <typename Scalar>
PendingEntropy EntropyCalculator::begin(AffineRows<Scalar> rows) {
  if (rows.num_rows < 1 || rows.num_cols < 1) {
    throw InvalidArgument("needs at least one token and one dimension, got {} x {}", rows.num_rows,
                          rows.num_cols);
  }
  preprocess(rows);
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

template <typename Scalar>
void EntropyCalculator::preprocess(AffineRows<Scalar>& rows) {
  switch (options_.preset) {
    case EntropyPreset::kRaw:
    case EntropyPreset::kSeqVcr:
      return;
    case EntropyPreset::kLimeCode:
      if (shift_.size() != rows.num_cols) {
        throw InvalidArgument("representations have {} dimensions, the statistics {}",
                              rows.num_cols, shift_.size());
      }
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
void EntropyCalculator::centre_and_normalize(AffineRows<Scalar>& rows) {
  shift_ = VectorD::Zero(rows.num_cols);
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    const Scalar* const row = rows.x + r * rows.row_stride;
    for (std::int64_t c = 0; c < rows.num_cols; ++c) shift_[c] += static_cast<double>(row[c]);
  }
  shift_ /= static_cast<double>(rows.num_rows);
  rows.shift = shift_.data();
  row_scale_.resize(rows.num_rows);
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    const AffineRows<Scalar> row{.x = rows.x + r * rows.row_stride,
                                 .num_rows = 1,
                                 .num_cols = rows.num_cols,
                                 .row_stride = rows.row_stride,
                                 .shift = rows.shift};
    const double norm = std::sqrt(squared_norm(row));
    if (!std::isfinite(norm)) check_finite(rows);
    if (!(norm > 0.0)) {
      throw InvalidArgument(
          "{}: divides every token by its distance from the mean token, which is 0 for token {}",
          enum_name(options_.preset), r);
    }
    row_scale_[r] = 1.0 / norm;
  }
  rows.row_scale = row_scale_.data();
}

void EntropyCalculator::begin_all(PendingEntropy& pending) {
  if (options_.preset == EntropyPreset::kLayerByLayer) {
    linalg::clamp_elements(gram_);
    const auto size = static_cast<double>(gram_.size());
    pending.mean_square = linalg::inner_product(gram_, gram_) / (size * size);
    if (std::all_of(orders_.begin(), orders_.end(), [](double alpha) { return alpha == 2.0; })) {
      pending.entropy.values = entropies_of_clamped_gram(pending);
      return;
    }
  } else if (std::all_of(orders_.begin(), orders_.end(), has_power_sum)) {
    pending.entropy.values = entropies_without_eigenvalues(pending.trace);
    return;
  }
  eigenvalues_.reduce(gram_, pending.tridiagonal);
}

/// Orders 2, 3 and 4 from tr(K^2) = <K, K>, tr(K^3) = <K^2, K>, tr(K^4) = <K^2, K^2>.
std::vector<double> EntropyCalculator::entropies_without_eigenvalues(double trace) {
  if (std::any_of(orders_.begin(), orders_.end(), [](double alpha) { return alpha > 2.0; })) {
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

/// From the eigenvalues that stand where the diagonal was.
std::vector<double> EntropyCalculator::entropies_of(const PendingEntropy& pending) const {
  if (options_.preset == EntropyPreset::kLayerByLayer) return entropies_of_clamped_gram(pending);
  std::vector<double> entropies;
  for (const double alpha : orders_) {
    entropies.push_back(entropy_of_spectrum(pending.tridiagonal.diagonal, pending.trace, alpha));
  }
  return entropies;
}

/// As the Layer by Layer code does: negative elements of the Gram matrix became 0; of its
/// eigenvalues the positive ones are divided by their own sum. Order 2 takes the squared Frobenius
/// norm, but divides it by the squared size of the matrix, which is the squared trace only where
/// the diagonal is 1: with more tokens than dimensions the value is low by 2 ln(N / D).
std::vector<double> EntropyCalculator::entropies_of_clamped_gram(
    const PendingEntropy& pending) const {
  std::vector<double> positive;
  for (const double value : pending.tridiagonal.diagonal) {
    if (value > 0.0) positive.push_back(value);
  }
  double sum = 0.0;
  for (const double value : positive) sum += value;
  std::vector<double> entropies;
  for (const double alpha : orders_) {
    entropies.push_back(alpha == 2.0 ? -std::log(pending.mean_square)
                                     : entropy_of_spectrum(positive, sum, alpha));
  }
  return entropies;
}

template <typename Scalar>
SequenceEntropy EntropyCalculator::compute_leading(const AffineRows<Scalar>& rows) {
  representations_.resize(rows.num_rows, rows.num_cols);
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    for (std::int64_t c = 0; c < rows.num_cols; ++c) representations_(r, c) = rows.at(r, c);
  }
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

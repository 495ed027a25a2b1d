// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/entropy_calculator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lime {
namespace {

using linalg::AffineRows;

bool has_power_sum(double alpha) { return alpha == 2.0 || alpha == 3.0 || alpha == 4.0; }

}  // namespace

EntropyCalculator::EntropyCalculator(const EntropyOptions& options,
                                     const std::optional<Standardization>& standardization)
    : options_(options),
      orders_(options.orders()),
      preprocessing_(options.preset, standardization) {
  options.validate();
}

template <typename Scalar>
SequenceEntropy EntropyCalculator::compute(AffineRows<Scalar> rows) {
  PendingEntropy pending = begin(rows);
  return finish({&pending, 1}).front();
}

template <typename Scalar>
PendingEntropy EntropyCalculator::begin(AffineRows<Scalar> rows) {
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
  if (options_.preset == EntropyPreset::kLayerByLayer) {
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

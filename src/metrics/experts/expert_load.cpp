// SPDX-License-Identifier: Apache-2.0
#include "metrics/experts/expert_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/errors.h"

namespace lime {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool contains_before(const ExpertRows& experts, Eigen::Index row, Eigen::Index end,
                     std::int32_t expert) {
  for (Eigen::Index i = 0; i < end; ++i) {
    if (experts(row, i) == expert) return true;
  }
  return false;
}

}  // namespace

ExpertRows expert_rows(const ConstMatrixRef& indices, std::int64_t num_experts) {
  throw_if(indices.cols() > num_experts,
           "experts: a token cannot select {} of {} expert{}; capture the indices and "
           "logits from one model",
           indices.cols(), num_experts, num_experts == 1 ? "" : "s");
  ExpertRows experts(indices.rows(), indices.cols());
  for (Eigen::Index row = 0; row < indices.rows(); ++row) {
    for (Eigen::Index i = 0; i < indices.cols(); ++i) {
      const float index = indices(row, i);
      throw_if(!(index >= 0.0F) || index >= static_cast<float>(num_experts) ||
                   std::floor(index) != index,
               "experts: row {} must have whole numbers from 0 to {}, got {}", row, num_experts - 1,
               index);
      experts(row, i) = static_cast<std::int32_t>(index);
      throw_if(contains_before(experts, row, i, experts(row, i)),
               "experts: row {} must have different experts, got {} twice", row, index);
    }
  }
  return experts;
}

VectorD expert_counts(const ExpertRows& experts, std::int64_t num_experts) {
  VectorD counts = VectorD::Zero(num_experts);
  for (const std::int32_t expert : experts.reshaped()) counts(expert) += 1.0;
  return counts;
}

double load_entropy(const VectorD& load) {
  const double total = load.sum();
  if (!(total > 0.0)) return kNone;
  double entropy = 0.0;
  for (const double part : load) {
    if (part > 0.0) entropy -= part / total * std::log(part / total);
  }
  return std::max(entropy, 0.0);
}

double max_violation(const VectorD& load) {
  const double total = load.sum();
  return total > 0.0 ? load.maxCoeff() * static_cast<double>(load.size()) / total - 1.0 : kNone;
}

double load_variation(const VectorD& load) {
  const double mean = load.mean();
  if (!(mean > 0.0)) return kNone;
  return std::sqrt((load.array() - mean).square().mean()) / mean;
}

double load_gini(const VectorD& load) {
  const double total = load.sum();
  if (!(total > 0.0)) return kNone;
  std::vector<double> sorted(load.begin(), load.end());
  std::ranges::sort(sorted);
  const auto n = static_cast<double>(sorted.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += (2.0 * static_cast<double>(i + 1) - n - 1.0) * sorted[i];
  }
  return sum / (n * total);
}

double unused_experts(const VectorD& load) {
  if (!(load.sum() > 0.0)) return kNone;
  return (load.array() == 0.0).cast<double>().mean();
}

double consecutive_overlap(const ExpertRows& experts, std::span<const std::int32_t> positions) {
  double common = 0.0;
  double pairs = 0.0;
  for (Eigen::Index row = 1; row < experts.rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (positions[at] != positions[at - 1] + 1) continue;
    pairs += 1.0;
    for (const std::int32_t expert : experts.row(row)) {
      if (contains_before(experts, row - 1, experts.cols(), expert)) common += 1.0;
    }
  }
  return pairs > 0.0 ? common / (pairs * static_cast<double>(experts.cols())) : kNone;
}

MatrixD coactivation_counts(const ExpertRows& experts, std::int64_t num_experts) {
  MatrixD counts = MatrixD::Zero(num_experts, num_experts);
  for (Eigen::Index row = 0; row < experts.rows(); ++row) {
    for (const std::int32_t a : experts.row(row)) {
      for (const std::int32_t b : experts.row(row)) counts(a, b) += 1.0;
    }
  }
  return counts;
}

double effective_partners(const MatrixD& counts) {
  double partners = 0.0;
  double selections = 0.0;
  for (Eigen::Index expert = 0; expert < counts.rows(); ++expert) {
    VectorD others = counts.row(expert).transpose();
    const double own = others(expert);
    others(expert) = 0.0;
    if (!(others.sum() > 0.0)) continue;
    partners += own * std::exp(load_entropy(others));
    selections += own;
  }
  return selections > 0.0 ? partners / selections : kNone;
}

VectorD most_loaded(const VectorD& load, std::int64_t size) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(load.size()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](Eigen::Index i) { return load(i); });
  VectorD members = VectorD::Zero(load.size());
  for (std::int64_t i = 0; i < size; ++i) members(order[static_cast<std::size_t>(i)]) = 1.0;
  return members;
}

Committee committee_of(const VectorD& members, const VectorD& load, double num_groups,
                       std::int64_t size, double fraction) {
  Committee committee;
  double common = 0.0;  // experts of ordered pairs of groups
  double committee_load = 0.0;
  for (Eigen::Index expert = 0; expert < members.size(); ++expert) {
    common += members(expert) * (members(expert) - 1.0);
    // Sums of ones are exact, but a fraction such as 0.7 times 10 is not.
    if (members(expert) < fraction * num_groups - 1e-9) continue;
    committee.size += 1.0;
    committee_load += load(expert);
  }
  const double total = load.sum();
  committee.share = total > 0.0 ? committee_load / total : kNone;
  const double pairs = num_groups * (num_groups - 1.0);
  committee.overlap = pairs > 0.0 ? common / (pairs * static_cast<double>(size)) : kNone;
  return committee;
}

}  // namespace lime

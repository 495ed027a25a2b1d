// SPDX-License-Identifier: Apache-2.0
#include "core/running_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/errors.h"

namespace lime {
namespace {

/// Rows that are summed in two passes before they are merged; small enough to stay in the cache.
constexpr Eigen::Index kBlockRows = 128;

/// Mean and sum of squared deviations of a few rows, the textbook's two passes.
RunningStatistics of_block(const ConstMatrixRef& rows, Eigen::Index first, Eigen::Index count) {
  const Eigen::Index dim = rows.cols();
  RunningStatistics block;
  block.count = count;
  block.mean = VectorD::Zero(dim);
  block.m2 = VectorD::Zero(dim);
  double* const mean = block.mean.data();
  double* const m2 = block.m2.data();
  for (Eigen::Index r = 0; r < count; ++r) {
    const float* const row = rows.data() + (first + r) * rows.outerStride();
    for (Eigen::Index j = 0; j < dim; ++j) mean[j] += static_cast<double>(row[j]);
  }
  block.mean /= static_cast<double>(count);
  for (Eigen::Index r = 0; r < count; ++r) {
    const float* const row = rows.data() + (first + r) * rows.outerStride();
    for (Eigen::Index j = 0; j < dim; ++j) {
      const double deviation = static_cast<double>(row[j]) - mean[j];
      m2[j] += deviation * deviation;
    }
  }
  return block;
}

}  // namespace

void RunningStatistics::add(const ConstMatrixRef& rows) {
  throw_if(count > 0 && rows.cols() != mean.size(),
           "statistics: rows must have {} dimensions like the previous ones, got {}", mean.size(),
           rows.cols());
  for (Eigen::Index first = 0; first < rows.rows(); first += kBlockRows) {
    merge(of_block(rows, first, std::min(kBlockRows, rows.rows() - first)));
  }
}

void RunningStatistics::merge(const RunningStatistics& other) {
  merge(other.count, {other.mean.data(), static_cast<std::size_t>(other.mean.size())},
        {other.m2.data(), static_cast<std::size_t>(other.m2.size())});
}

void RunningStatistics::merge(std::int64_t other_count, std::span<const double> other_mean,
                              std::span<const double> other_m2) {
  if (other_count == 0) return;
  const auto dim = static_cast<Eigen::Index>(other_mean.size());
  if (count == 0) {
    count = other_count;
    mean = Eigen::Map<const VectorD>(other_mean.data(), dim);
    m2 = Eigen::Map<const VectorD>(other_m2.data(), dim);
    return;
  }
  throw_if(dim != mean.size(), "statistics: both must have {} dimensions, got {}", mean.size(),
           dim);
  const auto n_a = static_cast<double>(count);
  const auto n_b = static_cast<double>(other_count);
  const double n = n_a + n_b;
  const double share = n_b / n;
  const double weight = n_a * n_b / n;
  for (Eigen::Index j = 0; j < dim; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const double delta = other_mean[at] - mean[j];
    mean[j] += delta * share;
    m2[j] += other_m2[at] + delta * delta * weight;
  }
  count += other_count;
}

VectorD RunningStatistics::rms_per_head(std::int64_t num_heads) const {
  throw_if(num_heads < 1 || mean.size() % num_heads != 0,
           "statistics: {} dimensions must split evenly into {} heads", mean.size(), num_heads);
  const Eigen::Index head_dim = mean.size() / num_heads;
  VectorD rms = VectorD::Zero(num_heads);
  if (count == 0) return rms;
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    rms[j / head_dim] += m2[j] / static_cast<double>(count) + mean[j] * mean[j];
  }
  for (double& value : rms) value = std::sqrt(value / static_cast<double>(head_dim));
  return rms;
}

}  // namespace lime

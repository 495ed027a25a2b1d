// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/affinities.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "metrics/rows.h"

namespace lime {
namespace {

constexpr int kBisectionSteps = 100;
constexpr double kEntropyTolerance = 1e-5;
constexpr std::int64_t kAffinityBlock = 64;

/// Computes the probabilities of one row for one beta, and returns their entropy.
///
/// The smallest distance is subtracted, which changes neither and prevents underflow.
double probabilities_and_entropy(const Eigen::ArrayXd& excess, double beta, Eigen::ArrayXd& row) {
  row = (-beta * excess).exp();
  const double sum = row.sum();  // >= 1: the nearest contributes 1
  row /= sum;
  return std::log(sum) + beta * (row * excess).sum();
}

void bisect_row(const Eigen::ArrayXd& excess, double target, Eigen::ArrayXd& row) {
  double beta = 1.0;
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kBisectionSteps; ++step) {
    const double difference = probabilities_and_entropy(excess, beta, row) - target;
    if (std::abs(difference) <= kEntropyTolerance) return;
    (difference > 0.0 ? low : high) = beta;
    beta = std::isinf(high) ? 2.0 * beta : 0.5 * (low + high);
  }
}

/// The transposed matrix, row by row with ascending columns.
struct Transposed {
  std::vector<std::int64_t> offset;
  std::vector<std::int32_t> column;
  std::vector<double> value;
};

Transposed transpose(const NeighborGraph::Indices& index, const MatrixD& value) {
  Transposed result;
  result.offset.assign(static_cast<std::size_t>(index.rows()) + 1, 0);
  for (Eigen::Index i = 0; i < index.size(); ++i) {
    ++result.offset[static_cast<std::size_t>(index.data()[i]) + 1];
  }
  std::partial_sum(result.offset.begin(), result.offset.end(), result.offset.begin());
  result.column.resize(static_cast<std::size_t>(index.size()));
  result.value.resize(result.column.size());
  std::vector<std::int64_t> next(result.offset.begin(), result.offset.end() - 1);
  for (Eigen::Index row = 0; row < index.rows(); ++row) {
    for (Eigen::Index i = 0; i < index.cols(); ++i) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(index(row, i))]++);
      result.column[at] = static_cast<std::int32_t>(row);
      result.value[at] = value(row, i);
    }
  }
  return result;
}

struct Entry {
  std::int32_t column;
  double value;
};

std::vector<Entry> merge_row(const NeighborGraph::Indices& index, const MatrixD& value,
                             const Transposed& transposed, Eigen::Index row) {
  const auto at = static_cast<std::size_t>(row);
  std::vector<Entry> entries;
  for (Eigen::Index i = 0; i < index.cols(); ++i) entries.push_back({index(row, i), value(row, i)});
  for (std::int64_t i = transposed.offset[at]; i < transposed.offset[at + 1]; ++i) {
    entries.push_back({transposed.column[static_cast<std::size_t>(i)],
                       transposed.value[static_cast<std::size_t>(i)]});
  }
  std::ranges::stable_sort(entries, {}, &Entry::column);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].column == entries[kept].column) {
      entries[kept].value += entries[i].value;
    } else {
      entries[++kept] = entries[i];
    }
  }
  entries.resize(kept + 1);
  return entries;
}

}  // namespace

MatrixD conditional_probabilities(const MatrixD& squared_distance, double perplexity,
                                  ThreadPool& pool) {
  MatrixD conditional(squared_distance.rows(), squared_distance.cols());
  const double target = std::log(perplexity);
  for_blocks(squared_distance.rows(), kAffinityBlock, pool,
             [&](Eigen::Index first, Eigen::Index last) {
               Eigen::ArrayXd row(squared_distance.cols());
               for (Eigen::Index i = first; i < last; ++i) {
                 const Eigen::ArrayXd distances = squared_distance.row(i).transpose().array();
                 bisect_row(distances - distances.minCoeff(), target, row);
                 conditional.row(i) = row.matrix().transpose();
               }
             });
  return conditional;
}

Affinities joint_probabilities(const NeighborGraph::Indices& index, const MatrixD& conditional,
                               ThreadPool& pool) {
  const Transposed transposed = transpose(index, conditional);
  const Eigen::Index rows = index.rows();
  std::vector<std::vector<Entry>> merged(static_cast<std::size_t>(rows));
  for_blocks(rows, kAffinityBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
    for (Eigen::Index row = first; row < last; ++row) {
      merged[static_cast<std::size_t>(row)] = merge_row(index, conditional, transposed, row);
    }
  });
  Affinities affinities;
  affinities.offset.assign(1, 0);
  for (const std::vector<Entry>& row : merged) {
    affinities.offset.push_back(affinities.offset.back() + std::ssize(row));
  }
  affinities.column.reserve(static_cast<std::size_t>(affinities.offset.back()));
  affinities.value.reserve(affinities.column.capacity());
  const double scale = 1.0 / (2.0 * static_cast<double>(rows));  // rows of conditional have sum 1
  for (const std::vector<Entry>& row : merged) {
    for (const Entry& entry : row) {
      affinities.column.push_back(entry.column);
      affinities.value.push_back(entry.value * scale);
    }
  }
  return affinities;
}

}  // namespace lime

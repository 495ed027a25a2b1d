// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/sequence_similarity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.h"
#include "metrics/rows.h"

namespace lime {
namespace {

/// Distances from the mean below this fraction of its norm are rounding errors: rows are float32.
constexpr double kRounding = 1e-12;

/// Maximum absolute column and row sum; the root of their product is the norm of Dong et al.
struct CompositeNorm {
  explicit CompositeNorm(Eigen::Index dim) : column_sums(Eigen::ArrayXd::Zero(dim)) {}

  template <typename Row> void add(const Row& magnitudes) {
    column_sums += magnitudes;
    largest_row = std::max(largest_row, magnitudes.sum());
  }
  double value() const { return std::sqrt(column_sums.maxCoeff() * largest_row); }

  Eigen::ArrayXd column_sums;
  double largest_row = 0.0;
};

}  // namespace

void DirectionSum::add(const ConstMatrixRef& rows, const VectorD* centre) {
  if (sum.size() == 0) sum = VectorD::Zero(rows.cols());
  throw_if(sum.size() != rows.cols(),
           "directions: rows must have {} dimensions like earlier rows, got {}", sum.size(),
           rows.cols());
  // A row that equals the centre up to rounding has no direction.
  const double shortest = centre != nullptr ? kRounding * centre->norm() : 0.0;
  VectorD row(rows.cols());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    row = rows.row(r).transpose().cast<double>();
    if (centre != nullptr) row -= *centre;
    const double length = row.norm();
    if (length > shortest) {
      sum += row * (1.0 / length);
      ++count;
    } else {
      ++zeros;
    }
  }
}

void DirectionSum::merge(const DirectionSum& other) {
  if (other.sum.size() == 0) return;
  if (sum.size() == 0) sum = VectorD::Zero(other.sum.size());
  sum += other.sum;
  count += other.count;
  zeros += other.zeros;
}

std::optional<double> DirectionSum::mean_cosine() const {
  if (count < 2) return std::nullopt;
  const auto n = static_cast<double>(count);
  return (sum.squaredNorm() - n) / (n * (n - 1.0));
}

SequenceSimilarity sequence_similarity(const ConstMatrixRef& rows) {
  const Eigen::Index tokens = rows.rows();
  throw_if(tokens < 2, "similarity: a sequence must have at least 2 tokens, got {}", tokens);
  const VectorD mean = mean_row(rows);
  const double mean_length = mean.norm();

  DirectionSum directions;
  directions.sum = VectorD::Zero(rows.cols());
  CompositeNorm norm(rows.cols());
  CompositeNorm residual_norm(rows.cols());
  double squares = 0.0;
  double residual_squares = 0.0;
  double cosines = 0.0;
  VectorD row(rows.cols());
  Eigen::ArrayXd residual(rows.cols());
  for (Eigen::Index r = 0; r < tokens; ++r) {
    row = rows.row(r).transpose().cast<double>();
    residual = (row - mean).array().abs();
    const double squared_length = row.squaredNorm();
    squares += squared_length;
    residual_squares += residual.matrix().squaredNorm();
    norm.add(row.array().abs());
    residual_norm.add(residual);
    if (squared_length > 0.0) {
      const double length = std::sqrt(squared_length);
      directions.sum += row * (1.0 / length);
      ++directions.count;
      if (mean_length > 0.0) cosines += row.dot(mean) / (length * mean_length);
    }
  }
  SequenceSimilarity result;
  directions.zeros = tokens - directions.count;
  result.mean_cosine = directions.mean_cosine();
  if (squares > 0.0) {
    result.rank_one_residual = std::sqrt(residual_squares / squares);
    result.rank_one_residual_1inf = residual_norm.value() / norm.value();
  }
  if (mean_length > 0.0 && directions.count > 0) {
    result.mean_token_similarity = cosines / static_cast<double>(directions.count);
  }
  result.directions = std::move(directions);
  return result;
}

}  // namespace lime

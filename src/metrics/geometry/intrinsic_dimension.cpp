// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/intrinsic_dimension.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metrics/neighbors/neighbors.h"
#include "metrics/rows.h"

namespace lime {
namespace {

/// Returns the indices of the first of each set of equal rows, ascending.
std::vector<Eigen::Index> distinct_rows(const ConstMatrixRef& points) {
  const auto compare = [&](Eigen::Index a, Eigen::Index b) {
    const float* const x = points.data() + a * points.outerStride();
    const float* const y = points.data() + b * points.outerStride();
    for (Eigen::Index c = 0; c < points.cols(); ++c) {
      if (x[c] != y[c]) return x[c] < y[c] ? -1 : 1;
    }
    return 0;
  };
  std::vector<Eigen::Index> order(static_cast<std::size_t>(points.rows()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::stable_sort(order,
                           [&](Eigen::Index a, Eigen::Index b) { return compare(a, b) < 0; });
  std::vector<Eigen::Index> firsts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) firsts.push_back(order[i]);
  }
  std::ranges::sort(firsts);
  return firsts;
}

double spread_of(const MatrixF& points) {
  const VectorD mean = points.cast<double>().colwise().mean().transpose();
  double squares = 0.0;
  for (Eigen::Index r = 0; r < points.rows(); ++r) {
    squares += (points.row(r).transpose().cast<double>() - mean).squaredNorm();
  }
  return std::sqrt(squares / static_cast<double>(points.rows()));
}

/// Returns the distances to the neighbours in double, ascending, [num_points, num_neighbors].
MatrixD exact_distances(const MatrixF& points, const NeighborGraph& graph, ThreadPool& pool) {
  MatrixD distances(graph.index.rows(), graph.index.cols());
  constexpr Eigen::Index kBlock = 256;
  for_blocks(points.rows(), kBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
    for (Eigen::Index i = first; i < last; ++i) {
      for (Eigen::Index j = 0; j < graph.index.cols(); ++j) {
        distances(i, j) =
            (points.row(i).cast<double>() - points.row(graph.index(i, j)).cast<double>()).norm();
      }
      std::sort(distances.row(i).data(), distances.row(i).data() + distances.cols());
    }
  });
  return distances;
}

/// Returns the points without a neighbour of lower index within `limit`, ascending.
std::vector<Eigen::Index> without_close_ones(const NeighborGraph& graph, double limit) {
  std::vector<Eigen::Index> kept;
  for (Eigen::Index i = 0; i < graph.index.rows(); ++i) {
    bool close = false;
    for (Eigen::Index j = 0; j < graph.index.cols() && !close; ++j) {
      close = graph.index(i, j) < i && graph.squared_distance(i, j) <= limit * limit;
    }
    if (!close) kept.push_back(i);
  }
  return kept;
}

}  // namespace

void IntrinsicDimensionOptions::validate() const {
  if (num_neighbors < 2)
    throw InvalidArgument(OptionName("k"), "must be >= 2, got {}", num_neighbors);
  check_option(two_nn_discard >= 0.0 && two_nn_discard < 1.0, "two_nn_discard", "in [0, 1)",
               two_nn_discard);
  check_option(duplicate_tolerance >= 0.0 && duplicate_tolerance < 1.0, "duplicate_tolerance",
               "in [0, 1)", duplicate_tolerance);
}

std::optional<double> two_nn_dimension(std::vector<double> log_ratios, TwoNnFit fit,
                                       double discard) {
  std::ranges::sort(log_ratios);
  const auto n = static_cast<double>(log_ratios.size());
  auto kept = static_cast<std::size_t>(n * (1.0 - discard));
  // The last of all ratios has F = 1, which is at infinity.
  if (fit == TwoNnFit::kLinear) kept = std::min(kept, log_ratios.size() - 1);
  if (log_ratios.empty() || kept < 2) return std::nullopt;
  double products = 0.0;
  double squares = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < kept; ++i) {
    const double x = log_ratios[i];
    products += x * -std::log1p(-static_cast<double>(i + 1) / n);
    squares += x * x;
    sum += x;
  }
  if (squares == 0.0) return std::nullopt;
  if (fit == TwoNnFit::kLinear) return products / squares;
  const auto m = static_cast<double>(kept);
  return (m - 1.0) / (sum + (n - m) * log_ratios[kept - 1]);
}

std::optional<double> mle_dimension(const MatrixD& distances, MleAverage average) {
  const Eigen::Index k = distances.cols();
  if (k < 2) throw InvalidArgument(OptionName("k"), "must be >= 2, got {}", k);
  double inverses = 0.0;
  double estimates = 0.0;
  std::int64_t finite = 0;
  for (Eigen::Index i = 0; i < distances.rows(); ++i) {
    double sum = 0.0;
    for (Eigen::Index j = 0; j + 1 < k; ++j) sum += std::log(distances(i, k - 1) / distances(i, j));
    const double inverse = sum / static_cast<double>(k - 1);
    inverses += inverse;
    if (inverse > 0.0) {
      estimates += 1.0 / inverse;
      ++finite;
    }
  }
  if (finite == 0) return std::nullopt;
  if (average == MleAverage::kDirect) return estimates / static_cast<double>(finite);
  return static_cast<double>(distances.rows()) / inverses;
}

std::optional<double> gride_dimension(const VectorD& log_ratios, std::int64_t n) {
  const double sum = log_ratios.sum();
  if (!(sum > 0.0)) return std::nullopt;
  const auto count = static_cast<double>(log_ratios.size());
  // Decreases in d; the limit of x / (1 - exp(-d x)) at x = 0 is 1 / d.
  const auto slope = [&](double d) {
    double weighted = 0.0;
    for (const double x : log_ratios) weighted += x > 0.0 ? x / -std::expm1(-d * x) : 1.0 / d;
    return count / d + static_cast<double>(n - 1) * weighted - static_cast<double>(2 * n - 1) * sum;
  };
  double low = 0.0;
  double high = 1.0;
  for (; slope(high) > 0.0 && high < 1e9; high *= 2.0) low = high;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

IntrinsicDimension intrinsic_dimension(const ConstMatrixRef& points,
                                       const IntrinsicDimensionOptions& options, ThreadPool& pool,
                                       const std::stop_token& stop) {
  options.validate();
  check_finite_rows(points);
  const auto too_few = [&](const MatrixF& distinct) {
    return distinct.rows() <= std::max<std::int64_t>(options.num_neighbors, 2);
  };
  IntrinsicDimension result;
  MatrixF kept = gather_rows(points, distinct_rows(points));
  const double limit = options.duplicate_tolerance * spread_of(kept);
  const NeighborOptions exact{.search = NeighborSearch::kExact};
  NeighborGraph graph;
  while (!too_few(kept)) {
    graph = find_neighbors(kept, options.num_neighbors, exact, pool, stop);
    const std::vector<Eigen::Index> apart = without_close_ones(graph, limit);
    if (static_cast<Eigen::Index>(apart.size()) == kept.rows()) break;
    kept = gather_rows(kept, apart);
  }
  result.points = kept.rows();
  result.duplicates = points.rows() - kept.rows();
  if (too_few(kept)) return result;
  const MatrixD distances = exact_distances(kept, graph, pool);
  std::vector<double> log_ratios;
  for (Eigen::Index i = 0; i < distances.rows(); ++i) {
    log_ratios.push_back(std::log(distances(i, 1) / distances(i, 0)));
  }
  result.two_nn =
      two_nn_dimension(std::move(log_ratios), options.two_nn_fit, options.two_nn_discard);
  while (4 * result.gride_scale <= options.num_neighbors) result.gride_scale *= 2;
  const std::int64_t n = result.gride_scale;
  result.gride = gride_dimension(
      (distances.col(2 * n - 1).array() / distances.col(n - 1).array()).log().matrix(), n);
  result.mle = mle_dimension(distances, options.mle_average);
  result.recall = graph.recall;
  return result;
}

}  // namespace lime

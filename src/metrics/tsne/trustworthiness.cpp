// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/trustworthiness.h"

#include <algorithm>

#include "core/random.h"
#include "metrics/neighbors/exact_search.h"
#include "metrics/rows.h"
#include "metrics/summary.h"

namespace lime {
namespace {

using SimdF = simd::Vector<float>;
using neighbors::PackedPoints;
constexpr std::int64_t kRows = neighbors::kPanelRows<float>;

/// Returns the k nearest of `query` in the embedding; ties: lower index first.
std::vector<std::int64_t> nearest_in(const MatrixD& embedding, std::int64_t query, std::int64_t k) {
  std::vector<std::pair<double, std::int64_t>> others;
  others.reserve(static_cast<std::size_t>(embedding.rows()));
  for (Eigen::Index other = 0; other < embedding.rows(); ++other) {
    if (other == query) continue;
    others.emplace_back((embedding.row(other) - embedding.row(query)).squaredNorm(), other);
  }
  std::nth_element(others.begin(), others.begin() + (k - 1), others.end());
  std::vector<std::int64_t> nearest;
  for (std::int64_t i = 0; i < k; ++i) {
    nearest.push_back(others[static_cast<std::size_t>(i)].second);
  }
  return nearest;
}

/// Returns squared distances from a panel's queries to all points, minus a constant per query.
Eigen::ArrayXf distance_keys(const PackedPoints& queries, std::int64_t panel,
                             const PackedPoints& base) {
  Eigen::ArrayXf keys(base.num_panels() * kRows * kRows);
  for (std::int64_t s = 0; s < base.num_panels(); ++s) {
    float* const to = keys.data() + s * kRows * kRows;
    neighbors::panel_products(queries.panel(panel), base.panel(s), base.dim(), to);
    for (int j = 0; j < kRows; ++j) {
      const SimdF norm(base.squared_norms()[s * kRows + j]);
      for (int i = 0; i < kRows; i += simd::kLanes<float>) {
        float* const place = to + j * kRows + i;
        const SimdF product = simd::load(place);
        simd::store(place, norm - (product + product));
      }
    }
  }
  return keys;
}

/// Sums over the k neighbours in the embedding by how much their rank in the data exceeds k.
double penalty(const Eigen::ArrayXf& keys, std::int64_t lane, std::int64_t query,
               const std::vector<std::int64_t>& nearest, std::int64_t num_points) {
  const auto k = std::ssize(nearest);
  std::vector<std::int64_t> rank(nearest.size(), 1);
  std::vector<float> limit;
  for (const std::int64_t point : nearest) limit.push_back(keys[point * kRows + lane]);
  const float farthest = *std::ranges::max_element(limit);
  for (std::int64_t other = 0; other < num_points; ++other) {
    const float distance = keys[other * kRows + lane];
    if (distance > farthest || other == query) continue;
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      if (distance < limit[i] || (distance == limit[i] && other < nearest[i])) ++rank[i];
    }
  }
  double sum = 0.0;
  for (const std::int64_t r : rank) sum += static_cast<double>(std::max<std::int64_t>(r - k, 0));
  return sum;
}

}  // namespace

void TrustworthinessOptions::validate(Eigen::Index num_points) const {
  throw_if(num_neighbors < 1 || num_neighbors > (num_points - 1) / 2,
           "trustworthiness: neighbours must be in [1, num_points / 2) for {} points, got {}",
           num_points, num_neighbors);
  throw_if(max_queries < 1, "trustworthiness: max_queries must be > 0, got {}", max_queries);
}

std::vector<double> trustworthiness_of_points(const ConstMatrixRef& points,
                                              const MatrixD& embedding,
                                              const TrustworthinessOptions& options,
                                              ThreadPool& pool, const std::stop_token& stop) {
  options.validate(points.rows());
  throw_if(embedding.rows() != points.rows(),
           "trustworthiness: {} points, but the embedding has {} rows", points.rows(),
           embedding.rows());
  const std::vector<std::int64_t> queries =
      sample_rows(points.rows(), options.max_queries, Random(options.seed));
  const neighbors::Centering centering = neighbors::centering_of(points, pool);
  const PackedPoints base(points, centering, pool);
  const PackedPoints packed_queries(gather_rows(points, queries), centering, pool);
  const auto all = static_cast<double>(points.rows());
  const auto k = static_cast<double>(options.num_neighbors);
  const double scale = 2.0 / (k * (2.0 * all - 3.0 * k - 1.0));
  std::vector<double> result(queries.size());
  pool.parallel_for(
      packed_queries.num_panels(),
      [&](std::int64_t panel) {
        const Eigen::ArrayXf keys = distance_keys(packed_queries, panel, base);
        const std::int64_t first = panel * kRows;
        const std::int64_t rows = std::min<std::int64_t>(kRows, std::ssize(queries) - first);
        for (std::int64_t lane = 0; lane < rows; ++lane) {
          const auto place = static_cast<std::size_t>(first + lane);
          const std::int64_t query = queries[place];
          result[place] = 1.0 - scale * penalty(keys, lane, query,
                                                nearest_in(embedding, query, options.num_neighbors),
                                                points.rows());
        }
      },
      stop);
  return result;
}

double trustworthiness(const ConstMatrixRef& points, const MatrixD& embedding,
                       const TrustworthinessOptions& options, ThreadPool& pool,
                       const std::stop_token& stop) {
  return mean_of(trustworthiness_of_points(points, embedding, options, pool, stop));
}

}  // namespace lime

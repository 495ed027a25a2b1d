// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/neighbors.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "core/random.h"
#include "metrics/neighbors/exact_search.h"
#include "metrics/neighbors/float_distances.h"
#include "metrics/rows.h"

namespace lime {
namespace {

using neighbors::Candidate;
using neighbors::Centering;
using neighbors::exact_search;
using neighbors::FloatDistances;
using neighbors::PackedPoints;
using neighbors::squared_distance;

/// `auto` searches exactly if an inverted file had to search more than one group in so many: the
/// matrix products of an exact search take an eighth of the time of as many single distances.
constexpr std::int64_t kGroupsPerProbe = 8;
/// Squared distances below this fraction of the squared norm are recomputed in double.
constexpr double kRecomputeBelow = 1e-1;
/// If even the last neighbour is this near, other points may be nearer than their float32 distance
/// says.
constexpr double kDoubtBelow = 2e-2;

struct Distance {
  double squared;
  std::int32_t index;
  auto operator<=>(const Distance&) const = default;
};

/// Returns how many points are nearer to `point` than `neighbor` is.
/// @param distances  squared distances to `point` in float32, infinite for itself
/// @param rounding   the largest error of each
Eigen::Index count_nearer(const ConstMatrixRef& points, Eigen::Index point, Eigen::Index neighbor,
                          const Eigen::Ref<const Eigen::RowVectorXf>& distances,
                          const Eigen::RowVectorXf& rounding) {
  const auto beyond = distances.array() - distances[neighbor];
  const auto doubt = rounding.array() + rounding[neighbor];
  Eigen::Index nearer = (beyond < -doubt).count();
  if ((beyond.abs() <= doubt).count() == 1) return nearer;  // the neighbour itself
  const double exact = squared_distance(points, point, neighbor);
  for (Eigen::Index other = 0; other < points.rows(); ++other) {
    if (std::abs(beyond[other]) > doubt[other]) continue;
    if (squared_distance(points, point, other) < exact) ++nearer;
  }
  return nearer;
}

/// Returns the nearest neighbours of `point` in double, of which the last is at most `bound` away.
/// The other arguments are those of count_nearer().
std::vector<Distance> search_in_double(const ConstMatrixRef& points, Eigen::Index point,
                                       const Eigen::Ref<const Eigen::RowVectorXf>& distances,
                                       const Eigen::RowVectorXf& rounding, double bound,
                                       std::int64_t requested) {
  std::vector<Distance> near;
  for (float margin = 1.0F; std::ssize(near) < requested; margin *= 2.0F) {
    near.clear();
    for (Eigen::Index other = 0; other < points.rows(); ++other) {
      if (distances[other] - margin * rounding[other] > static_cast<float>(bound)) continue;
      near.push_back({squared_distance(points, point, other), static_cast<std::int32_t>(other)});
    }
  }
  std::partial_sort(near.begin(), near.begin() + requested, near.end());
  near.resize(static_cast<std::size_t>(requested));
  return near;
}

std::vector<Distance> refine(const ConstMatrixRef& points, Eigen::Index row,
                             std::span<const Candidate> found, double squared_norm, double scale) {
  std::vector<Distance> refined;
  refined.reserve(found.size());
  for (const Candidate& candidate : found) {
    const auto distance = static_cast<double>(candidate.squared_distance);
    refined.push_back({distance < kRecomputeBelow * squared_norm
                           ? squared_distance(points, row, candidate.index)
                           : distance / (scale * scale),
                       candidate.index});
  }
  std::sort(refined.begin(), refined.end());
  return refined;
}

/// Calls `run` with 64 rows at a time.
template <typename Run>
void for_each_block(std::span<const Eigen::Index> rows, ThreadPool& pool,
                    const std::stop_token& stop, const Run& run) {
  constexpr std::size_t kBlock = 64;
  const std::size_t blocks = (rows.size() + kBlock - 1) / kBlock;
  pool.parallel_for(
      static_cast<std::int64_t>(blocks),
      [&](std::int64_t block) {
        const std::size_t first = static_cast<std::size_t>(block) * kBlock;
        run(rows.subspan(first, std::min(kBlock, rows.size() - first)));
      },
      stop);
}

void exact_neighbors(const ConstMatrixRef& points, const PackedPoints& packed, double scale,
                     NeighborGraph& graph, ThreadPool& pool, const std::stop_token& stop) {
  const std::int64_t requested = graph.index.cols();
  std::vector<std::int64_t> self(static_cast<std::size_t>(points.rows()));
  std::iota(self.begin(), self.end(), 0);
  const std::vector<Candidate> found =
      exact_search(packed, packed, {.num_neighbors = requested, .self = self}, pool, stop);
  const auto store = [&](Eigen::Index row, const std::vector<Distance>& nearest) {
    for (Eigen::Index i = 0; i < requested; ++i) {
      graph.index(row, i) = nearest[static_cast<std::size_t>(i)].index;
      graph.squared_distance(row, i) = nearest[static_cast<std::size_t>(i)].squared;
    }
  };
  pool.parallel_for(
      points.rows(),
      [&](std::int64_t row) {
        const std::span<const Candidate> of_row(found.data() + row * requested,
                                                static_cast<std::size_t>(requested));
        store(row, refine(points, row, of_row, packed.squared_norms()[row], scale));
      },
      stop);
  std::vector<Eigen::Index> doubtful;
  for (Eigen::Index row = 0; row < points.rows(); ++row) {
    const auto farthest = static_cast<double>(
        found[static_cast<std::size_t>((row + 1) * requested - 1)].squared_distance);
    // Equal points also have distance 0 in float32, and nothing is nearer.
    const bool all_equal = graph.squared_distance(row, requested - 1) == 0.0;
    if (farthest < kDoubtBelow * packed.squared_norms()[row] && !all_equal) doubtful.push_back(row);
  }
  if (!doubtful.empty()) {
    const FloatDistances distances(points);
    for_each_block(doubtful, pool, stop, [&](std::span<const Eigen::Index> rows) {
      const MatrixF to_all = distances.to_all(rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        store(rows[i], search_in_double(points, rows[i], to_all.row(static_cast<Eigen::Index>(i)),
                                        distances.rounding_of(rows[i]),
                                        graph.squared_distance(rows[i], requested - 1), requested));
      }
    });
  }
  graph.search = NeighborSearch::kExact;
  graph.recall = 1.0;
}

using FaissId = faiss::Index::idx_t;

constexpr std::int64_t kTrainingPointsPerCentre = 64;
constexpr int kKMeansRounds = 10;
constexpr std::int64_t kRecallSample = 1000;
constexpr std::int64_t kFewestProbes = 8;
constexpr std::int64_t kQueryBlock = 256;

/// Runs Lloyd's algorithm; a centre that loses all its points is unchanged.
MatrixF k_means(const MatrixF& sample, std::int64_t num_centres, const Centering& centering,
                Random random, ThreadPool& pool, const std::stop_token& stop) {
  MatrixF centres = gather_rows(sample, sample_rows(sample.rows(), num_centres, random));
  const PackedPoints packed_sample(sample, centering, pool);
  for (int round = 0; round < kKMeansRounds; ++round) {
    const std::vector<Candidate> nearest = exact_search(
        packed_sample, PackedPoints(centres, centering, pool), {.num_neighbors = 1}, pool, stop);
    MatrixD sums = MatrixD::Zero(centres.rows(), centres.cols());
    std::vector<std::int64_t> counts(static_cast<std::size_t>(centres.rows()), 0);
    for (Eigen::Index r = 0; r < sample.rows(); ++r) {
      const std::int32_t centre = nearest[static_cast<std::size_t>(r)].index;
      sums.row(centre) += sample.row(r).cast<double>();
      ++counts[static_cast<std::size_t>(centre)];
    }
    for (Eigen::Index c = 0; c < centres.rows(); ++c) {
      const auto count = static_cast<double>(counts[static_cast<std::size_t>(c)]);
      if (count > 0) centres.row(c) = (sums.row(c) / count).cast<float>();
    }
  }
  return centres;
}

/// FAISS's index over points with our own cluster assignment: its k-means depends on the number of
/// threads, and its matrix products on the installed BLAS.
class InvertedFile {
 public:
  InvertedFile(const ConstMatrixRef& points, const PackedPoints& packed, const Centering& centering,
               std::uint64_t seed, ThreadPool& pool, const std::stop_token& stop)
      : points_(points), pool_(pool), stop_(stop) {
    const auto num_centres =
        static_cast<std::int64_t>(4.0 * std::sqrt(static_cast<double>(points.rows())));
    const MatrixF sample = gather_rows(
        points, sample_rows(points.rows(), kTrainingPointsPerCentre * num_centres, Random(seed)));
    const MatrixF centres =
        k_means(sample, num_centres, centering, Random(seed).fork(1), pool, stop);
    centres_ = std::make_unique<PackedPoints>(centres, centering, pool);
    quantizer_ = std::make_unique<faiss::IndexFlatL2>(points.cols());
    quantizer_->add(centres.rows(), centres.data());
    index_ = std::make_unique<faiss::IndexIVFFlat>(quantizer_.get(),
                                                   static_cast<std::size_t>(points.cols()),
                                                   static_cast<std::size_t>(centres.rows()));
    index_->is_trained = true;
    const std::vector<FaissId> groups = nearest_centres(packed, 1);
    const MatrixF contiguous = points;
    index_->add_core(points.rows(), contiguous.data(), nullptr, groups.data());
  }

  std::int64_t num_groups() const { return centres_->rows(); }

  /// Finds the neighbours of the points `rows`, searching `probes` groups each. Rows with fewer
  /// than `requested` results are padded with index -1.
  void search(const std::vector<std::int64_t>& rows, std::int64_t probes, std::int64_t requested,
              NeighborGraph::Indices& index, MatrixD& squared_distance) const {
    const auto count = static_cast<std::int64_t>(rows.size());
    index.setConstant(count, requested, -1);
    squared_distance.setZero(count, requested);
    pool_.parallel_for((count + kQueryBlock - 1) / kQueryBlock,
                       [&](std::int64_t block) {
                         const std::int64_t first = block * kQueryBlock;
                         const std::vector<std::int64_t> part(
                             rows.begin() + first,
                             rows.begin() + std::min(count, first + kQueryBlock));
                         search_block(part, first, probes, index, squared_distance);
                       },
                       stop_);
    set_library_threads(pool_.num_threads());
  }

 private:
  std::vector<FaissId> nearest_centres(const PackedPoints& packed, std::int64_t count) const {
    const std::vector<Candidate> nearest =
        exact_search(packed, *centres_, {.num_neighbors = count}, pool_, stop_);
    std::vector<FaissId> groups(nearest.size());
    std::transform(nearest.begin(), nearest.end(), groups.begin(),
                   [](const Candidate& candidate) { return candidate.index; });
    return groups;
  }

  void search_block(const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t probes,
                    NeighborGraph::Indices& index, MatrixD& squared_distance) const {
    set_library_threads(1);  // of FAISS: the pool runs items in parallel
    const std::int64_t target = index.cols();
    const auto count = static_cast<FaissId>(rows.size());
    const MatrixF queries = gather_rows(points_, rows);
    std::vector<FaissId> groups(static_cast<std::size_t>(count * probes));
    std::vector<float> group_distances(groups.size());
    quantizer_->search(count, queries.data(), probes, group_distances.data(), groups.data());
    std::vector<float> distances(static_cast<std::size_t>(count * (target + 1)));
    std::vector<FaissId> labels(distances.size());
    faiss::IVFSearchParameters parameters;
    parameters.nprobe = static_cast<std::size_t>(probes);
    index_->search_preassigned(count, queries.data(), target + 1, groups.data(),
                               group_distances.data(), distances.data(), labels.data(), false,
                               &parameters);
    std::vector<Candidate> found;
    for (FaissId q = 0; q < count; ++q) {
      found.clear();
      for (std::int64_t i = 0; i <= target; ++i) {
        const auto at = static_cast<std::size_t>(q * (target + 1) + i);
        if (labels[at] < 0 || labels[at] == rows[static_cast<std::size_t>(q)]) continue;
        found.push_back({distances[at], static_cast<std::int32_t>(labels[at])});
      }
      std::sort(found.begin(), found.end());
      for (std::int64_t i = 0; i < std::min<std::int64_t>(target, std::ssize(found)); ++i) {
        index(first + q, i) = found[static_cast<std::size_t>(i)].index;
        squared_distance(first + q, i) = found[static_cast<std::size_t>(i)].squared_distance;
      }
    }
  }

  ConstMatrixRef points_;
  ThreadPool& pool_;
  const std::stop_token& stop_;
  std::unique_ptr<PackedPoints> centres_;
  std::unique_ptr<faiss::IndexFlatL2> quantizer_;
  std::unique_ptr<faiss::IndexIVFFlat> index_;
};

/// Returns the fraction of the true neighbours that `index` contains, row by row. A point at the
/// distance of the farthest true one counts as found, so ties are not errors.
double recall_of(const ConstMatrixRef& points, const std::vector<std::int64_t>& rows,
                 const MatrixD& found, const NeighborGraph::Indices& index,
                 const std::vector<Candidate>& truth) {
  std::int64_t hits = 0;
  for (Eigen::Index r = 0; r < index.rows(); ++r) {
    const std::int64_t row = rows[static_cast<std::size_t>(r)];
    double farthest = 0.0;  // in double: rounding may exceed the differences of near points
    for (Eigen::Index i = 0; i < index.cols(); ++i) {
      const Candidate& candidate = truth[static_cast<std::size_t>(r * index.cols() + i)];
      farthest = std::max(farthest, squared_distance(points, row, candidate.index));
    }
    for (Eigen::Index i = 0; i < index.cols(); ++i) {
      if (index(r, i) >= 0 && found(r, i) <= farthest * (1.0 + 1e-5)) ++hits;
    }
  }
  return static_cast<double>(hits) / static_cast<double>(index.size());
}

/// Fills `graph` (index, squared_distance, search, recall) with an inverted file: points are
/// grouped by their nearest of 4 sqrt(n) centres (k-means on a sample), and a query searches as
/// many of the nearest groups as needed for the recall in `options`.
/// @return false if an exact search is faster and `options` leave the choice.
bool inverted_file_search(const ConstMatrixRef& points, const PackedPoints& packed,
                          const Centering& centering, const NeighborOptions& options,
                          NeighborGraph& graph, ThreadPool& pool, const std::stop_token& stop) {
  const std::int64_t requested = graph.index.cols();
  const InvertedFile file(points, packed, centering, options.seed, pool, stop);
  const std::vector<std::int64_t> sample =
      sample_rows(points.rows(), kRecallSample, Random(options.seed).fork(2));
  const std::vector<Candidate> truth =
      exact_search(PackedPoints(gather_rows(points, sample), centering, pool), packed,
                   {.num_neighbors = requested, .self = sample}, pool, stop);
  NeighborGraph::Indices index;
  MatrixD distance;
  std::int64_t probes = std::min(kFewestProbes, file.num_groups());
  while (true) {
    file.search(sample, probes, requested, index, distance);
    graph.recall = recall_of(points, sample, distance, index, truth);
    const bool complete = (index.array() >= 0).all();
    if (probes == file.num_groups() || (complete && graph.recall >= options.target_recall)) break;
    probes = std::min(2 * probes, file.num_groups());
    const bool is_slow = probes * kGroupsPerProbe > file.num_groups();
    if (options.search == NeighborSearch::kAuto && is_slow) return false;
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(points.rows()));
  std::iota(all.begin(), all.end(), 0);
  file.search(all, probes, requested, graph.index, graph.squared_distance);
  // Points whose groups contain too few others: search everywhere.
  std::vector<std::int64_t> incomplete;
  for (const std::int64_t row : all) {
    if (graph.index(row, requested - 1) < 0) incomplete.push_back(row);
  }
  if (!incomplete.empty()) {
    file.search(incomplete, file.num_groups(), requested, index, distance);
    for (std::size_t i = 0; i < incomplete.size(); ++i) {
      graph.index.row(incomplete[i]) = index.row(static_cast<Eigen::Index>(i));
      graph.squared_distance.row(incomplete[i]) = distance.row(static_cast<Eigen::Index>(i));
    }
  }
  graph.search = NeighborSearch::kInvertedFile;
  return true;
}

bool searches_exactly(const ConstMatrixRef& points, const NeighborOptions& options) {
  if (options.search != NeighborSearch::kAuto) return options.search == NeighborSearch::kExact;
  const auto count = static_cast<double>(points.rows());
  return count * count * static_cast<double>(points.cols()) <= options.max_exact_work;
}

}  // namespace

void NeighborOptions::validate() const {
  check_option(target_recall > 0.0 && target_recall <= 1.0, "target_recall", "in (0, 1]",
               target_recall);
}

NeighborGraph find_neighbors(const ConstMatrixRef& points, std::int64_t num_neighbors,
                             const NeighborOptions& options, ThreadPool& pool,
                             const std::stop_token& stop) {
  options.validate();
  throw_if(num_neighbors < 1 || num_neighbors >= points.rows(),
           "neighbours: must be in [1, {}] for {} points, got {}",
           std::max<std::int64_t>(points.rows() - 1, 1), points.rows(), num_neighbors);
  check_finite_rows(points);
  const Centering centering = neighbors::centering_of(points, pool);
  const PackedPoints packed(points, centering, pool);
  NeighborGraph graph;
  graph.index.resize(points.rows(), num_neighbors);
  graph.squared_distance.resize(points.rows(), num_neighbors);
  if (searches_exactly(points, options) ||
      !inverted_file_search(points, packed, centering, options, graph, pool, stop)) {
    exact_neighbors(points, packed, centering.scale, graph, pool, stop);
  }
  return graph;
}

VectorD neighbor_overlap(const NeighborGraph::Indices& a, const NeighborGraph::Indices& b) {
  throw_if(a.rows() != b.rows() || a.cols() != b.cols(),
           "neighbours: both graphs must have the same shape");
  VectorD overlap(a.rows());
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    Eigen::Index common = 0;
    for (Eigen::Index j = 0; j < a.cols(); ++j) common += (b.row(i).array() == a(i, j)).any();
    overlap[i] = static_cast<double>(common) / static_cast<double>(a.cols());
  }
  return overlap;
}

std::vector<VectorD> scaled_ranks(const ConstMatrixRef& points,
                                  std::span<const std::vector<std::int32_t>> nearest,
                                  ThreadPool& pool) {
  const Eigen::Index n = points.rows();
  const FloatDistances distances(points);
  std::vector<Eigen::Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  std::vector<VectorD> ranks(nearest.size(), VectorD(n));
  for_each_block(all, pool, {}, [&](std::span<const Eigen::Index> rows) {
    const MatrixF to_all = distances.to_all(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Eigen::Index point = rows[i];
      const Eigen::RowVectorXf rounding = distances.rounding_of(point);
      for (std::size_t space = 0; space < nearest.size(); ++space) {
        const auto nearer =
            count_nearer(points, point, nearest[space][static_cast<std::size_t>(point)],
                         to_all.row(static_cast<Eigen::Index>(i)), rounding);
        ranks[space][point] = 2.0 * static_cast<double>(nearer + 1) / static_cast<double>(n);
      }
    }
  });
  return ranks;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/inverted_file.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "metrics/neighbors/exact_search.h"

namespace lime::neighbors {
namespace {

using FaissId = faiss::Index::idx_t;

constexpr std::int64_t kTrainingPointsPerCentre = 64;
constexpr int kKMeansRounds = 10;
constexpr std::int64_t kRecallSample = 1000;
constexpr std::int64_t kFewestProbes = 8;
constexpr std::int64_t kQueryBlock = 256;

/// Returns `count` distinct rows of `num_rows`, ascending.
std::vector<std::int64_t> sample_rows(std::int64_t num_rows, std::int64_t count, Random random) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(num_rows));
  std::iota(rows.begin(), rows.end(), 0);
  random.shuffle(std::span(rows));
  rows.resize(static_cast<std::size_t>(std::min(count, num_rows)));
  std::sort(rows.begin(), rows.end());
  return rows;
}

MatrixF gather_rows(const ConstMatrixRef& points, const std::vector<std::int64_t>& rows) {
  MatrixF gathered(static_cast<Eigen::Index>(rows.size()), points.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    gathered.row(static_cast<Eigen::Index>(i)) = points.row(rows[i]);
  }
  return gathered;
}

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
  /// than `wanted` results are padded with index -1.
  void search(const std::vector<std::int64_t>& rows, std::int64_t probes, std::int64_t wanted,
              NeighborGraph::Indices& index, MatrixD& squared_distance) const {
    const auto count = static_cast<std::int64_t>(rows.size());
    index.setConstant(count, wanted, -1);
    squared_distance.setZero(count, wanted);
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
  /// Returns the `count` nearest centres of every point, [num_points * count].
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
    const std::int64_t wanted = index.cols();
    const auto count = static_cast<FaissId>(rows.size());
    const MatrixF queries = gather_rows(points_, rows);
    std::vector<FaissId> groups(static_cast<std::size_t>(count * probes));
    std::vector<float> group_distances(groups.size());
    quantizer_->search(count, queries.data(), probes, group_distances.data(), groups.data());
    std::vector<float> distances(static_cast<std::size_t>(count * (wanted + 1)));
    std::vector<FaissId> labels(distances.size());
    faiss::IVFSearchParameters parameters;
    parameters.nprobe = static_cast<std::size_t>(probes);
    index_->search_preassigned(count, queries.data(), wanted + 1, groups.data(),
                               group_distances.data(), distances.data(), labels.data(), false,
                               &parameters);
    std::vector<Candidate> found;
    for (FaissId q = 0; q < count; ++q) {
      found.clear();
      for (std::int64_t i = 0; i <= wanted; ++i) {
        const auto at = static_cast<std::size_t>(q * (wanted + 1) + i);
        if (labels[at] < 0 || labels[at] == rows[static_cast<std::size_t>(q)]) continue;
        found.push_back({distances[at], static_cast<std::int32_t>(labels[at])});
      }
      std::sort(found.begin(), found.end());
      for (std::int64_t i = 0; i < std::min<std::int64_t>(wanted, std::ssize(found)); ++i) {
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
double recall_of(const MatrixD& found, const NeighborGraph::Indices& index,
                 const std::vector<Candidate>& truth, double scale) {
  std::int64_t hits = 0;
  for (Eigen::Index r = 0; r < index.rows(); ++r) {
    const double farthest =
        static_cast<double>(
            truth[static_cast<std::size_t>((r + 1) * index.cols() - 1)].squared_distance) /
        (scale * scale);
    for (Eigen::Index i = 0; i < index.cols(); ++i) {
      if (index(r, i) >= 0 && found(r, i) <= farthest * (1.0 + 1e-5)) ++hits;
    }
  }
  return static_cast<double>(hits) / static_cast<double>(index.size());
}

}  // namespace

void inverted_file_search(const ConstMatrixRef& points, const PackedPoints& packed,
                          const Centering& centering, const NeighborOptions& options,
                          NeighborGraph& graph, ThreadPool& pool, const std::stop_token& stop) {
  const std::int64_t wanted = graph.index.cols();
  const InvertedFile file(points, packed, centering, options.seed, pool, stop);
  const std::vector<std::int64_t> sample =
      sample_rows(points.rows(), kRecallSample, Random(options.seed).fork(2));
  const std::vector<Candidate> truth =
      exact_search(PackedPoints(gather_rows(points, sample), centering, pool), packed,
                   {.num_neighbors = wanted, .self = sample}, pool, stop);
  NeighborGraph::Indices index;
  MatrixD distance;
  std::int64_t probes = std::min(kFewestProbes, file.num_groups());
  while (true) {
    file.search(sample, probes, wanted, index, distance);
    graph.recall = recall_of(distance, index, truth, centering.scale);
    const bool complete = (index.array() >= 0).all();
    if (probes == file.num_groups() || (complete && graph.recall >= options.target_recall)) break;
    probes = std::min(2 * probes, file.num_groups());
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(points.rows()));
  std::iota(all.begin(), all.end(), 0);
  file.search(all, probes, wanted, graph.index, graph.squared_distance);
  // Points whose groups contain too few others: search everywhere.
  std::vector<std::int64_t> incomplete;
  for (const std::int64_t row : all) {
    if (graph.index(row, wanted - 1) < 0) incomplete.push_back(row);
  }
  if (!incomplete.empty()) {
    file.search(incomplete, file.num_groups(), wanted, index, distance);
    for (std::size_t i = 0; i < incomplete.size(); ++i) {
      graph.index.row(incomplete[i]) = index.row(static_cast<Eigen::Index>(i));
      graph.squared_distance.row(incomplete[i]) = distance.row(static_cast<Eigen::Index>(i));
    }
  }
  graph.search = NeighborSearch::kInvertedFile;
}

}  // namespace lime::neighbors

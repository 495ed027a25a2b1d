// SPDX-License-Identifier: Apache-2.0
#include "analysis/similarity/similarity_map.h"

#include <cmath>

#include "analysis/engine/row_summaries.h"
#include "metrics/geometry/clustered_mean.h"
#include "metrics/geometry/layer_change.h"
#include "metrics/geometry/similarity.h"
#include "metrics/jackknife.h"
#include "metrics/neighbors/neighbors.h"
#include "metrics/quantiles.h"

namespace lime {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

MatrixF read_drawn_rows(const CaptureReader& capture, const std::string& site, int layer,
                        const std::vector<std::int64_t>& drawn) {
  const std::int64_t dim = capture.dim(site, layer);
  const std::vector<std::int64_t>& offsets = capture.offsets();
  MatrixF rows(static_cast<Eigen::Index>(drawn.size()), dim);
  for (std::size_t i = 0; i < drawn.size();) {
    const auto next = std::ranges::upper_bound(offsets, drawn[i]);
    std::size_t last = i;
    while (last + 1 < drawn.size() && drawn[last + 1] < *next) ++last;
    const std::int64_t count = drawn[last] - drawn[i] + 1;
    const MatrixF read = capture.read_rows(site, layer, drawn[i], count);
    for (std::size_t j = i; j <= last; ++j) {
      rows.row(static_cast<Eigen::Index>(j)) = read.row(drawn[j] - drawn[i]);
    }
    i = last + 1;
  }
  return rows;
}

std::vector<ComparableRows> read_layers(const SimilarityTask& shared, std::size_t capture,
                                        const std::string& site, const std::vector<int>& layers,
                                        const UnitContext& context) {
  const CaptureReader& reader = shared.captures[capture].reader;
  std::vector<ComparableRows> all(layers.size());
  const std::vector<std::int64_t>& drawn = shared.rows[capture];
  std::vector<std::int32_t> sequence;
  for (const std::int64_t row : drawn) {
    sequence.push_back(reader.rows().sequence[static_cast<std::size_t>(row)]);
  }
  context.pool.parallel_for(
      std::ssize(layers),
      [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        try {
          all[at] = comparable_rows(read_drawn_rows(reader, site, layers[at], drawn), sequence,
                                    shared.options.wants(SimilarityGroup::kCka) ||
                                        shared.options.wants(SimilarityGroup::kProcrustes));
        } catch (const InvalidArgument& error) {
          throw InvalidArgument("'{}', layer {}: {}", shared.captures[capture].label, layers[at],
                                error.what());
        }
      },
      context.stop);
  return all;
}

struct Measured {
  double value = kNan;
  double standard_error = kNan;  ///< over sequences; NaN if there is none
  std::int64_t sequences = 0;
};

/// The measures of one pair of layers, in the order of SimilarityMeasure; NaN if not computed.
using Measures = std::array<Measured, kSimilarityMeasures.size()>;

void set_mean(Measured& measure, const ClusteredMean& mean) {
  measure.value = mean.mean;
  measure.standard_error = mean.standard_error;
  measure.sequences = mean.sequences;
}

Measures compare_pair(const ComparableRows& x, const ComparableRows& y,
                      const SimilarityAnalysisOptions& options) {
  Measures measures;
  const auto at = [&](SimilarityMeasure measure) -> Measured& {
    return measures[static_cast<std::size_t>(measure)];
  };
  const bool has_cka = options.wants(SimilarityGroup::kCka);
  const bool has_procrustes = options.wants(SimilarityGroup::kProcrustes);
  if (has_cka || has_procrustes) {
    const RowSimilarity found = RowComparison().compare(x, y, has_procrustes);
    if (has_cka) {
      at(SimilarityMeasure::kCka).value = found.cka;
      at(SimilarityMeasure::kCkaDebiased).value = found.cka_debiased.value_or(kNan);
    }
    at(SimilarityMeasure::kProcrustes).value = found.procrustes;
  }
  if (options.wants(SimilarityGroup::kChange) && x.rows.cols() == y.rows.cols()) {
    const LayerChange change = layer_change(x, y);
    set_mean(at(SimilarityMeasure::kInfluence), change.influence);
    set_mean(at(SimilarityMeasure::kAngle), change.angle);
  }
  return measures;
}

/// The similarity of one pair of layers: of all rows, and without each block of sequences.
struct PairSimilarity {
  Measures all;
  std::vector<Measures> without;
};

/// Empty without a jackknife, or if a measure is undefined.
std::optional<Jackknife> leave_out_blocks(const PairSimilarity& pair, std::size_t measure,
                                          double confidence) {
  std::vector<double> values;
  for (const Measures& without : pair.without) values.push_back(without[measure].value);
  return jackknife_of_defined(pair.all[measure].value, values, confidence);
}

ResultRow row_of(int layer, int other_layer, const PairSimilarity& pair, std::size_t n,
                 const SimilarityAnalysisOptions& options) {
  ResultRow row = {{col::kLayer, layer}, {col::kOtherLayer, other_layer}};
  for (std::size_t i = 0; i < pair.all.size(); ++i) {
    const SimilarityMeasureInfo& info = kSimilarityMeasures[i];
    if (options.wants(info.group)) row.set(info.value, pair.all[i].value);
  }
  row.set(col::kN, n);
  for (std::size_t i = 0; i < pair.all.size(); ++i) {
    const Measured& measure = pair.all[i];
    const SimilarityMeasureInfo& info = kSimilarityMeasures[i];
    if (const auto blocks = leave_out_blocks(pair, i, options.confidence)) {
      row.set(info.value.low, blocks->ci_low).set(info.value.high, blocks->ci_high);
    } else if (std::isfinite(measure.standard_error)) {
      const double margin =
          student_quantile(0.5 + options.confidence / 2.0, measure.sequences - 1) *
          measure.standard_error;
      row.set(info.value.low, measure.value - margin).set(info.value.high, measure.value + margin);
    }
  }
  return row;
}

/// The rows of every layer that are not of sequences in `block`.
std::vector<ComparableRows> without_block(const std::vector<ComparableRows>& layers,
                                          const std::vector<std::int64_t>& kept, ThreadPool& pool) {
  std::vector<ComparableRows> rest(layers.size());
  pool.parallel_for(std::ssize(layers), [&](std::int64_t i) {
    const ComparableRows& layer = layers[static_cast<std::size_t>(i)];
    const MatrixF& rows = layer.rows;
    MatrixF chosen(static_cast<Eigen::Index>(kept.size()), rows.cols());
    std::vector<std::int32_t> sequences;
    for (std::size_t r = 0; r < kept.size(); ++r) {
      chosen.row(static_cast<Eigen::Index>(r)) = rows.row(kept[r]);
      sequences.push_back(layer.sequence[static_cast<std::size_t>(kept[r])]);
    }
    rest[static_cast<std::size_t>(i)] =
        comparable_rows(std::move(chosen), std::move(sequences), layer.gram_norm > 0.0);
  });
  return rest;
}

/// Returns the positions of the drawn rows that remain without each block of sequences in turn.
std::vector<std::vector<std::int64_t>> rows_without_blocks(const SimilarityTask& shared,
                                                           const MapPlan& plan) {
  std::vector<std::vector<std::int64_t>> kept;
  if (shared.options.jackknife == 0) return kept;
  const CaptureReader& capture = shared.captures[plan.first].reader;
  const std::vector<std::int64_t>& drawn = shared.rows[plan.first];
  for (const Block& block : cut_into_blocks(capture.num_sequences(), shared.options.jackknife)) {
    const std::int64_t first = capture.offsets()[static_cast<std::size_t>(block.first)];
    const std::int64_t last = capture.offsets()[static_cast<std::size_t>(block.last)];
    std::vector<std::int64_t>& rows = kept.emplace_back();
    for (std::int64_t i = 0; i < std::ssize(drawn); ++i) {
      const std::int64_t row = drawn[static_cast<std::size_t>(i)];
      if (row < first || row >= last) rows.push_back(i);
    }
  }
  return kept;
}

/// Adds samples of every pair of different layers of a capture, one value per block.
void add_samples(const SimilarityTask& shared, const MapPlan& plan,
                 const std::vector<PairSimilarity>& map, UnitResult& result) {
  const auto shown = static_cast<std::size_t>(shared.options.shown());
  for (const auto& [i, j] : pairs_of(plan)) {
    if (i == j) continue;
    const PairSimilarity& pair = map[i * plan.other_layers.size() + j];
    const auto blocks = leave_out_blocks(pair, shown, shared.options.confidence);
    if (!blocks) continue;
    result.samples.push_back({.key = {{col::kOtherLabel, "itself"},
                                      {col::kOtherLayer, plan.other_layers[j]},
                                      {col::kLayer, plan.layers[i]}},
                              .quantity = std::string(kSimilarityMeasures[shown].value.name),
                              .items = "blocks",
                              .values = blocks->pseudo_values});
  }
}

/// Results of every pair of layers of a map, [layers * other_layers].
using SimilarityMap = std::vector<PairSimilarity>;

struct MapRows {
  std::vector<ComparableRows> first;
  std::vector<ComparableRows> second;  ///< empty where a capture is compared with itself

  const std::vector<ComparableRows>& others() const { return second.empty() ? first : second; }
};

/// Compares every pair of layers of all rows, then without each block.
SimilarityMap compare_layers(const SimilarityTask& shared, const MapPlan& plan, const MapRows& all,
                             const UnitContext& context) {
  const auto pairs = pairs_of(plan);
  const std::size_t width = plan.other_layers.size();
  const auto num_pairs = std::ssize(pairs);
  SimilarityMap map(plan.layers.size() * width);
  std::atomic<std::int64_t> done{0};
  const auto compare = [&](const MapRows& rows, const auto& store) {
    context.pool.parallel_for(
        num_pairs,
        [&](std::int64_t index) {
          const auto [i, j] = pairs[static_cast<std::size_t>(index)];
          store(map[i * width + j], compare_pair(rows.first[i], rows.others()[j], shared.options));
          context.report(++done, num_pairs * (1 + shared.options.jackknife));
        },
        context.stop);
  };
  compare(all, [](PairSimilarity& pair, const Measures& measures) { pair.all = measures; });
  for (const std::vector<std::int64_t>& kept : rows_without_blocks(shared, plan)) {
    const MapRows rest{without_block(all.first, kept, context.pool),
                       without_block(all.second, kept, context.pool)};
    compare(rest, [](PairSimilarity& pair, const Measures& measures) {
      pair.without.push_back(measures);
    });
  }
  return map;
}

/// The rows of a layer at length 1, their neighbours, and the nearest of them.
struct Neighborhoods {
  std::vector<MatrixF> points;
  std::vector<NeighborGraph::Indices> graphs;
  std::vector<std::vector<std::int32_t>> nearest;
};

Neighborhoods find_neighborhoods(const std::vector<ComparableRows>& layers, std::int64_t k,
                                 const UnitContext& context) {
  Neighborhoods found;
  for (const ComparableRows& layer : layers) {
    MatrixF points = layer.rows;
    for (Eigen::Index r = 0; r < points.rows(); ++r) {
      if (layer.lengths[r] > 0.0) points.row(r) *= static_cast<float>(1.0 / layer.lengths[r]);
    }
    NeighborGraph graph =
        find_neighbors(points, k, {.search = NeighborSearch::kExact}, context.pool, context.stop);
    const auto first = graph.index.col(0);
    found.nearest.emplace_back(first.begin(), first.end());
    found.graphs.push_back(std::move(graph.index));
    found.points.push_back(std::move(points));
  }
  return found;
}

/// Adds mutual neighbours and the imbalance from the first layer to the second of every pair.
void add_neighbors(const MapRows& rows, std::int64_t k, SimilarityMap& map,
                   const UnitContext& context) {
  const Neighborhoods first = find_neighborhoods(rows.first, k, context);
  const Neighborhoods second = find_neighborhoods(rows.second, k, context);
  const Neighborhoods& others = rows.second.empty() ? first : second;
  const std::span<const std::int32_t> sequence = rows.first.front().sequence;
  const std::size_t width = rows.others().size();
  for (std::size_t j = 0; j < width; ++j) {
    const std::vector<VectorD> ranks = scaled_ranks(others.points[j], first.nearest, context.pool);
    for (std::size_t i = 0; i < rows.first.size(); ++i) {
      Measures& measures = map[i * width + j].all;
      set_mean(measures[5],
               clustered_mean(neighbor_overlap(first.graphs[i], others.graphs[j]), sequence));
      set_mean(measures[6], clustered_mean(ranks[i], sequence));
    }
  }
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const MapPlan& plan) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    for (std::size_t j = plan.is_within() ? i : 0; j < plan.other_layers.size(); ++j) {
      pairs.emplace_back(i, j);
    }
  }
  return pairs;
}

UnitResult measure_map(const SimilarityTask& shared, const MapPlan& plan,
                       const UnitContext& context) {
  MapRows rows{read_layers(shared, plan.first, plan.site, plan.layers, context), {}};
  if (!plan.is_within()) {
    rows.second = read_layers(shared, plan.second, plan.site, plan.other_layers, context);
  }
  SimilarityMap map = compare_layers(shared, plan, rows, context);
  const std::size_t width = plan.other_layers.size();
  if (plan.is_within()) {
    for (const auto& [i, j] : pairs_of(plan)) map[j * width + i] = map[i * width + j];
  }
  if (shared.options.wants(SimilarityGroup::kNeighbors)) {
    add_neighbors(rows, shared.options.k, map, context);
  }
  UnitResult result;
  for (std::size_t i = 0; i < map.size(); ++i) {
    result.rows.push_back(row_of(plan.layers[i / width], plan.other_layers[i % width], map[i],
                                 shared.rows[plan.first].size(), shared.options));
  }
  if (plan.is_within()) add_samples(shared, plan, map, result);
  return result;
}

void set_bytes(Unit& unit, const SimilarityTask& shared, const MapPlan& plan) {
  std::int64_t widest = 0;
  const std::int64_t copies = (shared.options.jackknife > 0 ? 2 : 1) +
                              (shared.options.wants(SimilarityGroup::kNeighbors) ? 2 : 0);
  const auto add = [&](std::size_t capture, const std::vector<int>& layers) {
    const std::int64_t n = std::ssize(shared.rows[capture]) * copies;
    for (const int layer : layers) {
      const std::int64_t dim = shared.captures[capture].reader.dim(plan.site, layer);
      widest = std::max(widest, dim);
      unit.bytes += n * (dim * 4 + 8);
    }
  };
  add(plan.first, plan.layers);
  if (!plan.is_within()) add(plan.second, plan.other_layers);
  unit.bytes_per_thread =
      std::ssize(shared.rows[plan.first]) * 256 + widest * widest * 24 + (std::int64_t{64} << 20);
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry_analysis.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/geometry_report.h"
#include "analysis/geometry_rows.h"
#include "analysis/geometry_sample.h"
#include "analysis/token_sequences.h"
#include "core/errors.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/lidar.h"

namespace lime {
namespace {

/// For what is small beside a sequence: chunks of the file, spectra, tables.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{8} << 20;

/// One capture with what all its layers share.
struct PreparedCapture {
  std::int64_t num_sequences = 0;
  std::int64_t num_rows = 0;
  std::string identity;
  RowsToKeep keep;
};

/// What the units of one analysis share.
struct Shared {
  GeometryAnalysisOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::vector<PreparedCapture> prepared;
};

LayerGeometryOptions layer_options(const GeometryAnalysisOptions& options, const RowsToKeep& keep) {
  const bool rank = options.wants(GeometryGroup::kRank);
  LayerGeometryOptions layer;
  layer.spectrum_of_rows = rank && options.ranks != RankScope::kSequences;
  layer.spectrum_of_sequences = rank && options.ranks != RankScope::kRows;
  layer.similarity = options.wants(GeometryGroup::kSimilarity);
  layer.curvature = options.wants(GeometryGroup::kCurvature);
  layer.massive = options.wants(GeometryGroup::kMassive);
  layer.centering = options.centering;
  layer.spectrum_options = {.rankme_epsilon = rankme_epsilon(options.rankme),
                            .rank_tolerance = options.rank_tolerance};
  layer.massive_options = options.massive;
  layer.sample = keep.all;
  return layer;
}

/// The mean of the rows used: what the capture stores, if that is of these rows.
VectorD centre_of(const CaptureReader& capture, const std::string& site, int layer,
                  const PreparedCapture& prepared, const SequenceSource& sequences,
                  const UnitContext& context) {
  if (capture.has_statistics(site, layer)) {
    RunningStatistics statistics = capture.statistics(site, layer);
    if (statistics.count == prepared.num_rows && statistics.mean.allFinite()) {
      return std::move(statistics.mean);
    }
  }
  return mean_of_rows(sequences, context.pool, context.stop);
}

MeasuredLayer measure_layer(const CaptureReader& capture, const std::string& site, int layer,
                            const PreparedCapture& prepared, const GeometryAnalysisOptions& options,
                            const UnitContext& context) {
  const SequenceSource sequences = token_sequences(capture, site, layer, prepared.num_sequences);
  const std::vector<std::int64_t>& all = capture.offsets();
  const std::vector<std::int64_t> offsets(all.begin(), all.begin() + prepared.num_sequences + 1);
  MeasuredLayer measured;
  measured.geometry = layer_geometry(
      sequences, offsets, centre_of(capture, site, layer, prepared, sequences, context),
      layer_options(options, prepared.keep), context.pool, context.on_progress, context.stop);
  const RowsToKeep& keep = prepared.keep;
  if (options.wants(GeometryGroup::kDimension)) {
    const MatrixF points = keep.pick(measured.geometry.sample, keep.neighbors);
    measured.dimension = intrinsic_dimension(points, options.dimension, context.pool, context.stop);
  }
  if (options.wants(GeometryGroup::kLidar)) {
    measured.lidar = lidar(keep.pick(measured.geometry.sample, keep.classes.rows),
                           keep.classes.num_classes, options.token_classes.lidar);
    measured.lidar_rows = static_cast<std::int64_t>(keep.classes.rows.size());
  }
  return measured;
}

/// Bytes of a unit: the Gram matrices of the groups and of the spectrum, and the rows kept, with
/// what the neighbour search packs of them.
void set_bytes(Unit& unit, const CaptureReader& capture, std::int64_t dim,
               const PreparedCapture& prepared, const GeometryAnalysisOptions& options) {
  const LayerGeometryOptions layer = layer_options(options, prepared.keep);
  const std::int64_t gram = dim * dim * 4;
  const std::int64_t longest = longest_sequence(capture, prepared.num_sequences);
  const std::int64_t small = std::min(longest, dim);
  if (layer.spectrum_of_rows) {
    unit.bytes += gram * (num_moment_groups(prepared.num_sequences, dim) + 6);
    unit.bytes_per_thread += moment_scratch_bytes(longest, dim);
  }
  unit.bytes += static_cast<std::int64_t>(prepared.keep.all.size()) * dim * 24;
  unit.bytes += prepared.keep.classes.num_classes > 0 ? gram * 6 : 0;
  unit.bytes_per_thread += longest * dim * 4 + kWorkspaceBytes;
  if (layer.spectrum_of_sequences) unit.bytes_per_thread += small * small * 40;
}

std::vector<Unit> make_units(const std::shared_ptr<const Shared>& shared) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < shared->captures.size(); ++i) {
    const ChosenCapture& capture = shared->captures[i];
    for (const auto& [site, layers] : capture.parts) {
      for (const int layer : layers) {
        Unit unit = layer_unit(capture, site, layer);
        unit.identity = shared->prepared[i].identity;
        unit.work = shared->prepared[i].num_sequences;
        set_bytes(unit, capture.reader, capture.reader.dim(site, layer), shared->prepared[i],
                  shared->options);
        unit.measure = [shared, i, site = site, layer](const UnitContext& context) {
          const PreparedCapture& prepared = shared->prepared[i];
          return geometry_result(measure_layer(shared->captures[i].reader, site, layer, prepared,
                                               shared->options, context),
                                 shared->options);
        };
        units.push_back(std::move(unit));
      }
    }
  }
  return units;
}

PreparedCapture prepare_capture(const CaptureReader& capture,
                                const GeometryAnalysisOptions& options, std::uint64_t seed) {
  PreparedCapture prepared;
  prepared.num_sequences = num_sequences_used(capture, options.max_sequences);
  check_token_sequences(capture, prepared.num_sequences, "geometry");
  prepared.num_rows = capture.offsets()[static_cast<std::size_t>(prepared.num_sequences)];
  if (!options.measure.empty() && options.wants(GeometryGroup::kDimension) &&
      prepared.num_rows <= options.dimension.num_neighbors) {
    throw InvalidArgument("'{}': k must be < {}, the number of rows, got {}",
                          capture.path().string(), prepared.num_rows,
                          options.dimension.num_neighbors);
  }
  prepared.identity = sequences_identity(capture, prepared.num_sequences);
  prepared.keep = rows_to_keep(capture, prepared.num_rows, options, seed);
  return prepared;
}

}  // namespace

Analysis prepare_geometry(const GeometryAnalysisOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    shared->prepared.push_back(prepare_capture(capture.reader, options, run.seed));
  }
  Analysis analysis;
  analysis.metric = "geometry";
  analysis.options = stored_options(options);
  analysis.inputs = capture_inputs(shared->captures);
  analysis.units = make_units(shared);
  analysis.threads = UnitThreads::kInside;
  analysis.present = [shared](Results results, std::span<const UnitResult>) {
    return make_geometry_report(std::move(results), shared->captures, shared->options);
  };
  return analysis;
}

}  // namespace lime

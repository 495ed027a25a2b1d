// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry/geometry_analysis.h"

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/outlier_rows.h"
#include "analysis/engine/row_summaries.h"
#include "analysis/geometry/geometry_results.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/jackknife.h"

namespace lime {
namespace {

/// Reserve for data smaller than a sequence: chunks of the file, spectra, tables.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{8} << 20;
/// Maximum number of per-sequence measures of a layer in geometry_results.cpp.
constexpr std::int64_t kMaxSequenceMeasures = 16;

/// Returns how many views the capture has of each text. @throws InvalidArgument  if it has none
std::int64_t num_views(const ChosenCapture& capture) {
  const std::vector<Sequence>& sequences = capture.reader.sequences();
  const std::int64_t views = std::ranges::count(sequences, 0, &Sequence::pair);
  bool are_views = views > 1 && sequences.front().label < 0;
  for (std::size_t i = 0; are_views && i < sequences.size(); ++i) {
    are_views = sequences[i].pair == static_cast<std::int64_t>(i) / views;
  }
  throw_if(!are_views, "{}: contains no views of texts; capture them with lime-capture --views",
           quoted_path(capture.reader));
  throw_if(capture.num_sequences % views != 0, OptionName("max_sequences"),
           "must be a multiple of {}, the number of views of a text, got {}", views,
           capture.num_sequences);
  return views;
}

/// The rows of a layer that one pass keeps for measures that cannot be accumulated.
struct KeptRows {
  std::vector<std::int64_t> neighbors;  ///< drawn from all rows, ascending; empty if not requested
  std::int64_t num_views = 1;           ///< sequences per text; 1 if not requested
};

struct Shared {
  GeometryAnalysisOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::vector<KeptRows> kept;  ///< of each capture

  std::int64_t num_rows(std::size_t capture) const {
    const ChosenCapture& used = captures[capture];
    return used.reader.offsets()[static_cast<std::size_t>(used.num_sequences)];
  }
};

std::string describe_capture(const ChosenCapture& capture) {
  const std::int64_t count = capture.num_sequences;
  const std::int64_t skipped = capture.reader.skipped_tokens();
  return fmt::format("{}: {} sequences, {} rows{}, captured by {}", capture.label, count,
                     capture.reader.offsets()[static_cast<std::size_t>(count)],
                     skipped == 0 ? "" : fmt::format(" without the first {} of each", skipped),
                     capture.reader.info().tool);
}

/// Returns the mean of the rows used; the stored one if it covers exactly these rows.
VectorD centre_of(const Shared& shared, const LayerPlace& place, const SequenceSource& sequences,
                  const UnitContext& context) {
  const CaptureReader& capture = shared.captures[place.capture].reader;
  if (capture.has_statistics(place.site, place.layer)) {
    RunningStatistics statistics = capture.statistics(place.site, place.layer);
    if (statistics.count == shared.num_rows(place.capture) && statistics.mean.allFinite()) {
      return std::move(statistics.mean);
    }
  }
  return mean_of_rows(sequences, context.pool, context.stop);
}

/// All sequences except those of a block, and the rows to keep of them.
struct RemainingRows {
  SequenceSource sequences;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> neighbors;
};

RemainingRows leave_out(const SequenceSource& sequences, const std::vector<std::int64_t>& offsets,
                        const std::vector<std::int64_t>& neighbors, const Block& left_out) {
  RemainingRows rest;
  const std::int64_t removed = left_out.last - left_out.first;
  rest.sequences.count = sequences.count - removed;
  rest.sequences.read = [&sequences, left_out, removed](std::int64_t index, MatrixF& rows) {
    sequences.read(index < left_out.first ? index : index + removed, rows);
  };
  const std::int64_t first_row = offsets[static_cast<std::size_t>(left_out.first)];
  const std::int64_t last_row = offsets[static_cast<std::size_t>(left_out.last)];
  const auto without = [&](const std::vector<std::int64_t>& rows) {
    std::vector<std::int64_t> remaining;
    for (const std::int64_t row : rows) {
      if (row < first_row) remaining.push_back(row);
      if (row >= last_row) remaining.push_back(row - (last_row - first_row));
    }
    return remaining;
  };
  rest.offsets = without(offsets);  // the block's end takes the place of its beginning
  rest.neighbors = without(neighbors);
  return rest;
}

/// Returns a row per sequence without those of a block.
MatrixF rows_without(const MatrixF& rows, const Block& block) {
  MatrixF rest(rows.rows() - (block.last - block.first), rows.cols());
  rest << rows.topRows(block.first), rows.bottomRows(rows.rows() - block.last);
  return rest;
}

std::vector<MeasuredLayer> measure_without_blocks(const SequenceSource& sequences,
                                                  const std::vector<std::int64_t>& offsets,
                                                  const KeptRows& kept, const MatrixF& views,
                                                  const GeometryAnalysisOptions& options,
                                                  const UnitContext& context) {
  std::vector<MeasuredLayer> measured;
  if (options.jackknife == 0) return measured;
  const std::int64_t size = kept.num_views;
  for (Block block : cut_into_blocks(sequences.count / size, options.jackknife)) {
    block = {block.first * size, block.last * size};
    const RemainingRows rest = leave_out(sequences, offsets, kept.neighbors, block);
    LayerGeometryOptions layer = layer_geometry_options(options, rest.neighbors);
    layer.spectrum_of_sequences = false;
    layer.curvature = false;
    layer.massive = false;
    layer.first_token = false;
    MeasuredLayer& without = measured.emplace_back();
    if (layer.spectrum_of_rows || layer.similarity || !layer.sample.empty()) {
      without.geometry = layer_geometry(rest.sequences, rest.offsets,
                                        mean_of_rows(rest.sequences, context.pool, context.stop),
                                        layer, context.pool, {}, context.stop);
    }
    if (options.wants(GeometryGroup::kDimension)) {
      without.dimension = intrinsic_dimension(without.geometry.sample, options.dimension,
                                              context.pool, context.stop);
    }
    if (kept.num_views > 1) {
      without.views =
          measure_views(rows_without(views, block), rest.sequences.count / size, options.views,
                        options.summary.seed, context.pool, context.stop);
    }
    without.geometry.sequences.clear();
    without.geometry.sample.resize(0, 0);
    context.report(sequences.count * (1 + std::ssize(measured)),
                   sequences.count * (1 + options.jackknife));
  }
  return measured;
}

/// @param views  [num_sequences, dim], filled with the rows of the views if they are requested.
MeasuredLayer measure_all(const SequenceSource& sequences, const std::vector<std::int64_t>& offsets,
                          const VectorD& centre, const KeptRows& kept, MatrixF& views,
                          const GeometryAnalysisOptions& options, const UnitContext& context) {
  SequenceSource read = sequences;
  if (kept.num_views > 1) {
    views.resize(sequences.count, centre.size());
    read.read = [&](std::int64_t index, MatrixF& rows) {
      sequences.read(index, rows);
      with_sequence("geometry", index, [&] {
        views.row(index) = pooled_token(rows, false, options.views.token_preset());
      });
    };
  }
  MeasuredLayer measured;
  measured.geometry =
      layer_geometry(read, offsets, centre, layer_geometry_options(options, kept.neighbors),
                     context.pool, context.on_progress, context.stop);
  if (options.wants(GeometryGroup::kDimension)) {
    measured.dimension = intrinsic_dimension(measured.geometry.sample, options.dimension,
                                             context.pool, context.stop);
  }
  if (kept.num_views > 1) {
    measured.views = measure_views(views, sequences.count / kept.num_views, options.views,
                                   options.summary.seed, context.pool, context.stop);
  }
  return measured;
}

UnitResult measure_layer(const Shared& shared, const LayerPlace& place,
                         const UnitContext& context) {
  const GeometryAnalysisOptions& options = shared.options;
  const CaptureReader& reader = shared.captures[place.capture].reader;
  const std::int64_t num_sequences = shared.captures[place.capture].num_sequences;
  const KeptRows& kept = shared.kept[place.capture];
  const SequenceSource sequences = token_sequences(reader, place.site, place.layer, num_sequences);
  const std::vector<std::int64_t>& all = reader.offsets();
  const std::vector<std::int64_t> offsets(all.begin(), all.begin() + num_sequences + 1);
  const VectorD centre = centre_of(shared, place, sequences, context);
  MatrixF views;
  const MeasuredLayer measured =
      measure_all(sequences, offsets, centre, kept, views, options, context);
  return geometry_result(
      measured, measure_without_blocks(sequences, offsets, kept, views, options, context), options);
}

/// Bytes of the Gram matrices, and of the rows kept and their packed copy for the neighbour search.
void set_bytes(Unit& unit, const ChosenCapture& capture, std::int64_t dim, const KeptRows& kept,
               const GeometryAnalysisOptions& options) {
  const LayerGeometryOptions layer = layer_geometry_options(options, kept.neighbors);
  const std::int64_t gram = dim * dim * 4;
  const std::int64_t longest = longest_sequence(capture.reader, capture.num_sequences);
  const std::int64_t small = std::min(longest, dim);
  if (layer.spectrum_of_rows) {
    unit.bytes += gram * (num_moment_groups(capture.num_sequences, dim) + 6);
    unit.bytes_per_thread += moment_scratch_bytes(longest, dim);
  }
  const std::int64_t copies = options.jackknife > 0 ? 2 : 1;
  unit.bytes += std::ssize(kept.neighbors) * dim * 24 * copies;
  if (kept.num_views > 1) {
    const std::int64_t texts = capture.num_sequences / kept.num_views;
    unit.bytes += capture.num_sequences * dim * 16 + gram * 6 + texts * texts * 16;
    unit.bytes_per_thread += texts * texts * 8 + texts * 1024;
  }
  unit.bytes_per_thread += longest * dim * 4 + kWorkspaceBytes;
  if (layer.spectrum_of_sequences) unit.bytes_per_thread += small * small * 40;
  unit.bytes += summary_bytes(kMaxSequenceMeasures, options.summary);
}

void check_size(const ChosenCapture& capture, std::int64_t num_rows,
                const GeometryAnalysisOptions& options) {
  throw_if(!options.measure.empty() && options.wants(GeometryGroup::kDimension) &&
               num_rows <= options.dimension.num_neighbors,
           OptionName("k"), "must be < {}, the number of rows of {}, got {}", num_rows,
           quoted_path(capture.reader), options.dimension.num_neighbors);
}

}  // namespace

LayerGeometryOptions layer_geometry_options(const GeometryAnalysisOptions& options,
                                            const std::vector<std::int64_t>& neighbors) {
  const bool rank = options.wants(GeometryGroup::kRank);
  LayerGeometryOptions layer;
  layer.spectrum_of_rows =
      (rank && options.ranks != RankScope::kSequences) || options.wants(GeometryGroup::kPowerLaw);
  layer.spectrum_of_sequences = rank && options.ranks != RankScope::kRows;
  layer.similarity = options.wants(GeometryGroup::kSimilarity);
  layer.curvature = options.wants(GeometryGroup::kCurvature);
  layer.massive = options.wants(GeometryGroup::kMassive);
  layer.first_token = options.wants(GeometryGroup::kFirstToken);
  layer.centering = options.centering;
  layer.spectrum_options = {.rankme_epsilon = rankme_epsilon(options.rankme),
                            .rank_tolerance = options.rank_tolerance};
  if (options.wants(GeometryGroup::kPowerLaw)) layer.spectrum_options.power_law = options.power_law;
  layer.massive_options = options.massive;
  layer.sample = neighbors;
  return layer;
}

double rankme_epsilon(RankMePreset preset) {
  switch (preset) {
    case RankMePreset::kPaper: return 1e-7;
    case RankMePreset::kStablePretraining: return 1e-5;
    case RankMePreset::kTensorflowGnn: return 1e-12;
    case RankMePreset::kNone: break;
  }
  return 0.0;
}

bool GeometryAnalysisOptions::wants(GeometryGroup group) const {
  if (measure.empty()) return group != GeometryGroup::kPowerLaw && group != GeometryGroup::kViews;
  return std::ranges::find(measure, group) != measure.end();
}

bool GeometryAnalysisOptions::measures_items() const {
  const bool has_blocks = jackknife > 0;
  return (wants(GeometryGroup::kRank) && (has_blocks || ranks != RankScope::kRows)) ||
         ((wants(GeometryGroup::kDimension) || wants(GeometryGroup::kPowerLaw)) && has_blocks) ||
         wants(GeometryGroup::kSimilarity) || wants(GeometryGroup::kCurvature) ||
         wants(GeometryGroup::kMassive) || wants(GeometryGroup::kFirstToken) ||
         wants(GeometryGroup::kViews);
}

void GeometryAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip(list);
  captures.describe_max_sequences(list);
  list.add("measure", measure, "groups of measures; default: all except power-law and views");
  list.group("Ranks");
  list.add("ranks", ranks, "compute ranks over all rows, per sequence, or both");
  list.add("centering", centering,
           "subtract the mean first: by each measure's definition (participation ratio only), "
           "always or never");
  list.add("rankme", rankme, "source of RankMe's epsilon: 1e-7, 1e-5, 1e-12 or none");
  list.add("rank_tolerance", rank_tolerance,
           "the numerical rank counts singular values above this times the largest, in [1e-7, 1); "
           "default: max(rows, dim) times the float32 epsilon");
  list.group("Power law");
  list.add("power_law_first", power_law.first, "first eigenvalue of the fit, counted from 1");
  list.add("power_law_last", power_law.last,
           "last eigenvalue of the fit, at most the rank of the covariance");
  list.group("Massive activations");
  list.add("massive_threshold", massive.threshold, "smallest magnitude, >= 0");
  list.add("massive_ratio", massive.ratio,
           "smallest ratio to the median magnitude of the sequence, >= 1");
  list.group("Intrinsic dimension");
  list.add("neighbor_rows", neighbor_rows, "rows drawn at random for the neighbour search, >= 3");
  list.add("k", dimension.num_neighbors,
           "neighbours per row for the maximum-likelihood estimate, >= 2");
  list.add("two_nn_fit", dimension.two_nn_fit, "fitting method of TwoNN");
  list.add("two_nn_discard", dimension.two_nn_discard,
           "fraction of the largest ratios that TwoNN discards, in [0, 1)");
  list.add("mle_average", dimension.mle_average,
           "average of the per-row estimates: inverse (MacKay & Ghahramani) or direct (Levina & "
           "Bickel)");
  list.add("duplicate_tolerance", dimension.duplicate_tolerance,
           "rows closer than this times their spread count as duplicates, in [0, 1)");
  views.describe(list);
  summary.describe(list, "interval of the mean over sequences");
  list.add("jackknife", jackknife,
           "jackknife blocks of sequences, for intervals and comparisons of measures of all rows "
           "together, >= 5; 0: none");
}

void GeometryAnalysisOptions::validate() const {
  captures.validate();
  SpectrumOptions{.rankme_epsilon = rankme_epsilon(rankme), .rank_tolerance = rank_tolerance}
      .validate();
  power_law.validate();
  massive.validate();
  dimension.validate();
  check_option(neighbor_rows >= 3, "neighbor_rows", ">= 3", neighbor_rows);
  throw_if(wants(GeometryGroup::kDimension) && neighbor_rows <= dimension.num_neighbors,
           OptionName("k"), "must be < the number of neighbor rows, {}, got {}", neighbor_rows,
           dimension.num_neighbors);
  views.validate();
  summary.validate("bootstrap");
  check_jackknife(jackknife);
}

Analysis prepare_geometry(const GeometryAnalysisOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (std::size_t i = 0; i < shared->captures.size(); ++i) {
    ChosenCapture& capture = shared->captures[i];
    KeptRows& kept = shared->kept.emplace_back();
    if (options.wants(GeometryGroup::kViews)) {
      check_whole_sequences(capture.reader, "geometry");
      kept.num_views = num_views(capture);
    }
    skip_short_sequences(capture, "geometry", kept.num_views);
    check_size(capture, shared->num_rows(i), options);
    if (options.wants(GeometryGroup::kDimension)) {
      kept.neighbors = draw_rows(shared->num_rows(i), options.neighbor_rows, run.seed);
    }
    const std::int64_t items = capture.num_sequences / kept.num_views;
    throw_if(options.jackknife > items, OptionName("jackknife"),
             "must be <= {}, the number of {} of {}, got {}", items,
             kept.num_views > 1 ? "texts" : "sequences", quoted_path(capture.reader),
             options.jackknife);
  }
  Analysis analysis = analysis_of("geometry", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    const ChosenCapture& capture = shared->captures[place.capture];
    unit.identity = capture.identity;
    unit.work = capture.num_sequences * (1 + options.jackknife);
    set_bytes(unit, capture, capture.reader.dim(place.site, place.layer),
              shared->kept[place.capture], options);
    unit.measure = [shared, place](const UnitContext& context) {
      return measure_layer(*shared, place, context);
    };
  });
  if (!options.measure.empty() && options.wants(GeometryGroup::kMassive)) {
    for (std::string& line : names_of_massive_tokens(shared->captures)) {
      analysis.notes.push_back(std::move(line));
    }
  }
  if (!options.measures_items()) {
    analysis.lacks_items =
        "measures of all rows together have no values per item; add --jackknife 10";
  }
  analysis.threads = UnitThreads::kInside;
  analysis.present = [shared](Report& report, auto) {
    std::vector<std::string> inputs;
    for (const ChosenCapture& capture : shared->captures) {
      inputs.push_back(describe_capture(capture));
    }
    fill_geometry_report(report, inputs, shared->options);
  };
  return analysis;
}

}  // namespace lime

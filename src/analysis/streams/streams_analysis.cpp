// SPDX-License-Identifier: Apache-2.0
#include "analysis/streams/streams_analysis.h"

#include <cmath>

#include "analysis/effects/effects.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/engine/row_summaries.h"
#include "checkpoint/families/key_reader.h"
#include "core/program/suggest.h"
#include "metrics/rows.h"
#include "metrics/streams/stream_measures.h"
#include "store/results/matrix_rows.h"

namespace lime {
namespace {

/// Parts of a layer that read and write the streams, in the order of the captured weights.
constexpr std::array kStreamParts = {"attn", "mlp"};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct StreamsShared {
  StreamsOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::optional<SweepEffects> effects;
};

/// Returns the number of streams in config.json: of our decoders, deepseek_v4 and gemma3n; 0 if it
/// has none.
std::int64_t configured_streams(const KeyReader& keys) {
  for (const char* const key : {"hc_mult", "altup_num_inputs"}) {
    if (const auto number = keys.integer(key)) return *number;
  }
  if (keys.find("text_config") != nullptr) {
    return configured_streams(keys.required_object("text_config"));
  }
  if (keys.find("mhc") != nullptr) {
    return keys.required_object("mhc").integer("hc_mult").value_or(0);
  }
  if (keys.find("hyper_connections") != nullptr) {
    return keys.required_object("hyper_connections").integer("rate").value_or(0);
  }
  return 0;
}

/// Returns the number n of streams, of which the weights have 2 n (n + 2) columns.
std::int64_t num_streams_of(const CaptureReader& capture, int layer) {
  std::int64_t streams =
      configured_streams(KeyReader(capture.config(), quoted_path(capture) + ": config"));
  if (capture.has(kStreamWeightsSite, layer)) {
    const std::int64_t width = capture.dim(kStreamWeightsSite, layer);
    streams = std::llround(std::sqrt(1.0 + static_cast<double>(width) / 2.0)) - 1;
    throw_if<FormatError>(streams < 1 || 2 * streams * (streams + 2) != width,
                          "{}: {} of layer {} must have 2 n (n + 2) columns for n streams, got {}",
                          quoted_path(capture), kStreamWeightsSite, layer, width);
  }
  if (!capture.has(kStreamsSite, layer)) return streams;
  const std::int64_t width = capture.dim(kStreamsSite, layer);
  throw_if(streams < 1 || width % streams != 0,
           "{}: {} of layer {} have {} columns, which are not a multiple of the {} streams of the "
           "config (hc_mult, altup_num_inputs or hyper_connections.rate)",
           quoted_path(capture), kStreamsSite, layer, width, streams);
  return streams;
}

std::vector<ChosenCapture> open_streams(const CaptureSetOptions& options) {
  std::vector<ChosenCapture> captures = open_without_parts(options);
  for (ChosenCapture& capture : captures) {
    const std::vector<std::string>& sites = capture.reader.sites();
    const auto has = [&](const char* site) {
      return std::ranges::find(sites, site) != sites.end();
    };
    throw_if(!has(kStreamsSite) && !has(kStreamWeightsSite),
             "{}: contains no residual streams (its sites: {}); capture a model with "
             "Hyper-Connections with --sites {},{}",
             quoted_path(capture.reader), join_words(sites), kStreamsSite, kStreamWeightsSite);
    select_site(capture, has(kStreamsSite) ? kStreamsSite : kStreamWeightsSite, options);
    for (const int layer : capture.parts.front().layers) num_streams_of(capture.reader, layer);
    check_whole_sequences(capture.reader, "streams");
  }
  return captures;
}

/// Means over the tokens of each sequence, and a mean over all tokens.
struct MeasuredStreams {
  explicit MeasuredStreams(std::int64_t count)
      : energies(static_cast<std::size_t>(count)),
        measures(energies.size()),
        mixing(kStreamParts.size(), std::vector<VectorD>(energies.size())),
        weights(mixing) {}

  std::vector<VectorD> energies;              ///< [num_streams] of each sequence
  std::vector<VectorD> measures;              ///< stream_measures()
  std::vector<std::vector<VectorD>> mixing;   ///< mixing_measures(), by part
  std::vector<std::vector<VectorD>> weights;  ///< sums of [n, n + 2] over the tokens, by part
};

void measure_streams(const MatrixF& rows, std::int64_t num_streams, std::size_t sequence,
                     MeasuredStreams& measured) {
  VectorD energies = VectorD::Zero(num_streams);
  VectorD measures = VectorD::Zero(static_cast<Eigen::Index>(kStreamMeasures.size()));
  for (Eigen::Index row = 0; row < rows.rows(); ++row) {
    const Eigen::Map<const MatrixF> streams(rows.row(row).data(), num_streams,
                                            rows.cols() / num_streams);
    energies += stream_energies(streams);
    measures += stream_measures(streams);
  }
  measured.energies[sequence] = energies / static_cast<double>(rows.rows());
  measured.measures[sequence] = measures / static_cast<double>(rows.rows());
}

void measure_mixing(const MatrixF& rows, std::int64_t num_streams, std::size_t sequence,
                    MeasuredStreams& measured) {
  const Eigen::Index width = rows.cols() / static_cast<Eigen::Index>(kStreamParts.size());
  for (std::size_t part = 0; part < kStreamParts.size(); ++part) {
    VectorD sum = VectorD::Zero(width);
    VectorD measures = VectorD::Zero(static_cast<Eigen::Index>(kMixingMeasures.size()));
    for (Eigen::Index row = 0; row < rows.rows(); ++row) {
      const auto own = rows.row(row).segment(static_cast<Eigen::Index>(part) * width, width);
      sum += own.transpose().cast<double>();
      measures +=
          mixing_measures(Eigen::Map<const MatrixF>(own.data(), num_streams, num_streams + 2));
    }
    measured.mixing[part][sequence] = measures / static_cast<double>(rows.rows());
    measured.weights[part][sequence] = sum;
  }
}

class StreamRows {
 public:
  explicit StreamRows(const SummaryOptions& summary) : summaries_(summary) {}

  /// Adds the mean of item `index` of the vectors of all sequences.
  ResultRow& add(ResultRow key, const std::vector<VectorD>& of_sequences, Eigen::Index index) {
    std::vector<double> values;
    for (const VectorD& items : of_sequences) values.push_back(items(index));
    std::erase_if(values, [](double value) { return std::isnan(value); });
    result_.rows.push_back(std::move(key));
    ResultRow& row = result_.rows.back();
    if (values.empty()) {
      set_summary(row, {.mean = kNone, .std = kNone, .ci_low = kNone, .ci_high = kNone});
      return row;
    }
    summaries_.add_mean(row, result_.rows.size() - 1, values);
    if (values.size() != of_sequences.size() || !row.text(col::kKind).empty()) return row;
    ResultRow samples_key = {{col::kMeasure, row.text(col::kMeasure)}};
    if (row.has(col::kRead)) samples_key.set(col::kRead, row.text(col::kRead));
    result_.samples.push_back({.key = std::move(samples_key),
                               .quantity = row.text(col::kMeasure),
                               .items = "sequences",
                               .values = std::move(values)});
    return row;
  }
  void add_row(ResultRow row) { result_.rows.push_back(std::move(row)); }
  UnitResult finish() {
    summaries_.fill(result_.rows);
    return std::move(result_);
  }

 private:
  RowSummaries summaries_;
  UnitResult result_;
};

void add_streams(const MeasuredStreams& measured, std::int64_t num_streams, StreamRows& rows) {
  const auto n = static_cast<double>(num_streams);
  const std::array ceilings = {n, 1.0, 1.0};
  const std::array evens = {n, 1.0 / n, kNone};
  for (std::size_t m = 0; m < kStreamMeasures.size(); ++m) {
    ResultRow& row = rows.add({{col::kGroup, "streams"},
                               {col::kMeasure, std::string(kStreamMeasures[m])},
                               {col::kOver, "sequences"}},
                              measured.measures, static_cast<Eigen::Index>(m));
    row.set(col::kCeiling, ceilings[m]);
    if (!std::isnan(evens[m])) row.set(col::kEven, evens[m]);
  }
}

void add_energies(const MeasuredStreams& measured, std::int64_t num_streams, StreamRows& rows) {
  for (std::int64_t stream = 0; stream < num_streams; ++stream) {
    rows.add({{col::kKind, "stream"},
              {col::kStream, stream},
              {col::kMeasure, "energy"},
              {col::kOver, "sequences"}},
             measured.energies, stream)
        .set(col::kEven, 1.0 / static_cast<double>(num_streams));
  }
}

void add_mixing(const MeasuredStreams& measured, std::int64_t num_streams, StreamRows& rows) {
  const auto n = static_cast<double>(num_streams);
  for (std::size_t part = 0; part < kStreamParts.size(); ++part) {
    for (std::size_t m = 0; m < kMixingMeasures.size(); ++m) {
      ResultRow& row = rows.add({{col::kGroup, "mixing"},
                                 {col::kRead, kStreamParts[part]},
                                 {col::kMeasure, std::string(kMixingMeasures[m])},
                                 {col::kOver, "sequences"}},
                                measured.mixing[part], static_cast<Eigen::Index>(m));
      if (m >= 2) row.set(col::kCeiling, n);
    }
  }
}

/// Adds the mean weights over all tokens.
void add_mean_weights(const MeasuredStreams& measured, std::int64_t num_streams,
                      std::int64_t num_tokens, StreamRows& rows) {
  for (std::size_t part = 0; part < kStreamParts.size(); ++part) {
    VectorD sum = VectorD::Zero(num_streams * (num_streams + 2));
    for (const VectorD& own : measured.weights[part]) sum += own;
    sum /= static_cast<double>(num_tokens);
    const Eigen::Map<const MatrixD> weights(sum.data(), num_streams, num_streams + 2);
    for (const auto& [kind, column] : {std::pair("read", 0), std::pair("written", 1)}) {
      const VectorD own = weights.col(column);
      rows.add_row(matrix_row("streams", kind, {{col::kRead, kStreamParts[part]}}, {num_streams},
                              {own.begin(), own.end()}));
    }
    const MatrixD mixing = weights.rightCols(num_streams);
    rows.add_row(matrix_row("streams", "mixing", {{col::kRead, kStreamParts[part]}},
                            {num_streams, num_streams},
                            {mixing.data(), mixing.data() + mixing.size()}));
  }
}

UnitResult measure_layer(const ChosenCapture& capture, int layer, const SummaryOptions& summary,
                         const UnitContext& context) {
  const CaptureReader& reader = capture.reader;
  const std::int64_t num_streams = num_streams_of(reader, layer);
  const bool has_streams = reader.has(kStreamsSite, layer);
  const bool has_weights = reader.has(kStreamWeightsSite, layer);
  MeasuredStreams measured(capture.num_sequences);
  const auto rows_of = [&](const char* site, std::int64_t sequence) {
    MatrixF rows = reader.read_sequence(site, layer, sequence);
    check_finite(rows, reader, fmt::format("{} of layer {}", site, layer), [&](std::int64_t row) {
      return reader.offsets()[static_cast<std::size_t>(sequence)] + row;
    });
    return rows;
  };
  context.pool.parallel_for(
      capture.num_sequences,
      [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        if (has_streams) measure_streams(rows_of(kStreamsSite, i), num_streams, at, measured);
        if (has_weights) measure_mixing(rows_of(kStreamWeightsSite, i), num_streams, at, measured);
      },
      context.stop);
  StreamRows rows(summary);
  if (has_streams) add_streams(measured, num_streams, rows);
  if (has_weights) add_mixing(measured, num_streams, rows);
  if (has_streams) add_energies(measured, num_streams, rows);
  if (has_weights) {
    add_mean_weights(measured, num_streams,
                     reader.offsets()[static_cast<std::size_t>(capture.num_sequences)], rows);
  }
  context.report(capture.num_sequences, capture.num_sequences);
  return rows.finish();
}

void set_bytes(Unit& unit, const StreamsShared& shared, const LayerPlace& place) {
  const ChosenCapture& capture = shared.captures[place.capture];
  const std::int64_t streams = num_streams_of(capture.reader, place.layer);
  std::int64_t width = 0;
  for (const char* const site : {kStreamsSite, kStreamWeightsSite}) {
    if (capture.reader.has(site, place.layer)) width += capture.reader.dim(site, place.layer);
  }
  unit.work = capture.num_sequences;
  unit.bytes = capture.num_sequences * (streams * (streams + 4) * 16 + 400) +
               summary_bytes(12 + streams, shared.options.summary);
  unit.bytes_per_thread = longest_sequence(capture.reader, capture.num_sequences) * width * 8;
}

void open_effects(StreamsShared& shared, Analysis& analysis) {
  const std::filesystem::path& path = shared.options.effects;
  if (path.empty()) return;
  throw_if(shared.captures.size() != 1, OptionName("effects"),
           "belongs to one model, got {} captures; run the command for each",
           shared.captures.size());
  const ChosenCapture& capture = shared.captures.front();
  throw_if(capture.parts.front().site != kStreamsSite, OptionName("effects"),
           "needs the energies of the streams, which {} lacks; capture again with --sites {}",
           quoted_path(capture.reader), kStreamsSite);
  shared.effects.emplace(path, "streams", std::vector<std::string>{"stream"});
  shared.effects->check_model(capture.reader.info().checkpoint_sha256,
                              capture.reader.path().string());
  analysis.inputs.push_back(shared.effects->input());
  const std::string warning = shared.effects->warning_on_text(capture.reader.info().input_sha256);
  if (!warning.empty()) analysis.warnings.push_back(warning);
}

/// Returns the energy of every stream beside the effect of its removal.
std::vector<ResultRow> rows_of_effects(const StreamsShared& shared,
                                       std::span<const UnitResult> units) {
  const ChosenCapture& capture = shared.captures.front();
  const std::vector<int>& layers = capture.parts.front().layers;
  std::vector<ComponentMass> energies;
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const ResultRow* const row : rows_with(units[i].rows, {{col::kKind, "stream"}})) {
      energies.push_back({{{col::kLayer, layers[i]}, {col::kStream, row->integer(col::kStream)}},
                          row->number(col::kMean)});
    }
  }
  return effect_rows(*shared.effects, "stream", {{col::kLabel, capture.label}}, energies,
                     shared.options.summary);
}

Results table_of(Results results) {
  std::erase_if(results.rows, [](const ResultRow& row) {
    const std::string& kind = row.text(col::kKind);
    return !kind.empty() && kind != "stream";
  });
  for (ResultRow& row : results.rows) {
    if (row.text(col::kKind) == "stream") {
      row.set(col::kGroup, "energy");
      row.set(col::kMeasure, fmt::format("stream {}", row.integer(col::kStream)));
    }
    if (row.has(col::kRead)) {
      row.set(col::kGroup, row.text(col::kGroup) + " before " + row.text(col::kRead));
    }
  }
  return results;
}

void fill_report(Report& report, const StreamsShared& shared) {
  TableLayout& layout = report.layout;
  layout.ceiling = {};
  const bool is_single = shared.captures.size() == 1;
  layout.block = is_single ? std::vector<Column>{col::kGroup}
                           : std::vector<Column>{col::kGroup, col::kMeasure};
  if (is_single) layout.series = col::kMeasure;
  for (const ChosenCapture& capture : shared.captures) {
    report.notes.push_back(describe_sequences(capture));
  }
  report.notes.emplace_back(
      "streams after the layer: effective number by energy, fraction of the largest, mean cosine "
      "of two");
  report.notes.emplace_back(
      "mixing: distance of the matrix from the identity (1: uniform) and from uniform (1: "
      "identity), effective number of streams that the part reads and writes");
  report.legend = "cells: mean, standard deviation over sequences of their means over tokens" +
                  interval_legend(shared.options.summary);
  report.parts = [layout](const Results& main) {
    return std::vector<ReportPart>{{pivot_table(table_of(main), layout)}};
  };
}

}  // namespace

void StreamsOptions::describe(OptionList& list) {
  captures.describe_layers(list);
  captures.describe_skip_tokens(list);
  captures.describe_max_sequences(list);
  list.add("effects", effects,
           "results of lime-capture sweep --over streams of the same model: energy and effect of "
           "each stream, and whether they agree");
  summary.describe(list);
}

void StreamsOptions::validate() const {
  captures.validate();
  summary.validate("bootstrap");
}

Analysis prepare_streams(const StreamsOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<StreamsShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_streams(options.captures);
  Analysis analysis = analysis_of("streams", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    unit.identity = shared->captures[place.capture].identity;
    set_bytes(unit, *shared, place);
    unit.measure = [shared, place](const UnitContext& context) {
      return measure_layer(shared->captures[place.capture], place.layer, shared->options.summary,
                           context);
    };
  });
  analysis.threads = UnitThreads::kInside;
  open_effects(*shared, analysis);
  if (shared->effects) {
    analysis.more_rows = [shared](std::span<const UnitResult> units) {
      return rows_of_effects(*shared, units);
    };
  }
  analysis.present = [shared](Report& report, auto) {
    fill_report(report, *shared);
    if (shared->effects) add_effect_sections(report, "energy");
  };
  return analysis;
}

}  // namespace lime

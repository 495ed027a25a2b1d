// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_analysis.h"

#include "analysis/engine/capture_rows.h"
#include "metrics/device/gpu.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/geometry/layer_geometry.h"

namespace lime {
namespace {

/// Sets mean and smallest of `values`; if all are equal, the mean is not rounded.
template <typename T>
void add_mean_and_min(ResultRow& row, const NumberColumn& column, const auto& min_column,
                      const std::vector<T>& values) {
  const auto [min, max] = std::ranges::minmax(values);
  if (min == max) {
    row.set(column, min);
  } else {
    row.set(column, mean_of(std::vector<double>(values.begin(), values.end())));
  }
  row.set(min_column, min);
}

ResultRow row_of(const SequenceEntropies& entropies, std::size_t order,
                 const EntropyAnalysisOptions& options) {
  std::vector<double> ceilings;
  for (const std::int64_t tokens : entropies.num_tokens) {
    ceilings.push_back(entropy_ceiling(tokens, entropies.dim, options.entropy));
  }
  ResultRow row = {{col::kAlpha, entropies.alpha[order]},
                   {col::kPreset, enum_name(options.entropy.preset)},
                   {col::kUnit, entropy_unit(options.entropy)}};
  set_summary(row, summarize(entropies.of_order(order), options.summary));
  add_mean_and_min(row, col::kTokens, col::kTokensMin, entropies.num_tokens);
  row.set(col::kDim, entropies.dim);
  add_mean_and_min(row, col::kCeiling, col::kCeilingMin, ceilings);
  if (options.entropy.top_k) {
    const auto column = static_cast<Eigen::Index>(order);
    row.set(col::kLower, entropies.lower.col(column).mean());
    row.set(col::kUpper, entropies.upper.col(column).mean());
    row.set(col::kLeftOut, mean_of(entropies.left_out));
  }
  return row;
}

/// Returns the row of one order with the differences in place of the untrained entropies.
ResultRow difference_row(const ResultRow& key, const UnitResult& untrained,
                         const UnitResult& trained, std::size_t order,
                         const EntropyAnalysisOptions& options) {
  std::vector<double> values = untrained.samples[order].values;
  for (std::size_t j = 0; j < values.size(); ++j) values[j] -= trained.samples[order].values[j];
  const ResultRow& of_untrained = untrained.rows[order];
  const ResultRow& of_trained = trained.rows[order];
  ResultRow row = key;
  row.add(of_untrained);
  set_summary(row, summarize(values, options.summary));
  if (options.entropy.top_k) {
    row.set(col::kLower, of_untrained.number(col::kLower) - of_trained.number(col::kUpper));
    row.set(col::kUpper, of_untrained.number(col::kUpper) - of_trained.number(col::kLower));
  }
  return row;
}

std::string_view preprocessing(EntropyPreset preset) {
  constexpr std::array kWords = {"dimensions standardised over all rows of the capture",
                                 "none",
                                 "none",
                                 "tokens centred, unit length, negative similarities set to 0",
                                 "tokens centred, unit length",
                                 "tokens centred, unit length"};  // by EntropyPreset
  return kWords[static_cast<std::size_t>(preset)];
}

/// Returns the divisor of the values; empty if they are in nats.
std::string_view divisor(const EntropyOptions& options) {
  if (options.preset == EntropyPreset::kMatrixEntropy) return "ln dim";
  if (options.preset != EntropyPreset::kLayerByLayer) return "";
  constexpr std::array kDivisors = {"min(ln tokens, ln dim)", "ln tokens", "ln dim",
                                    "(ln tokens * ln dim)", ""};  // by EntropyNormalization
  return kDivisors[static_cast<std::size_t>(options.normalization)];
}

std::string unit(const EntropyOptions& options) {
  if (options.preset == EntropyPreset::kDiffErank)
    return "exponential of the entropy: an effective rank";
  const std::string_view by = divisor(options);
  return by.empty() ? "nats" : fmt::format("divided by {}", by);
}

std::string what_is_measured(const EntropyOptions& options) {
  return fmt::format("matrix-based Renyi entropy of each sequence, preset {}, alpha {}, {}",
                     enum_name(options.preset), fmt::join(options.orders(), ", "), unit(options));
}

std::string what_cells_are(const EntropyAnalysisOptions& options) {
  std::string text = "cells: mean, standard deviation over the sequences";
  if (options.entropy.top_k) {
    return text + fmt::format(", [bounds of the mean from the {} leading eigenvalues]",
                              *options.entropy.top_k);
  }
  return text + interval_legend(options.summary);
}

/// Returns one number, or mean and minimum if the sequences differ.
std::string mean_and_min(const ResultRow& row, const Column& column, const Column& min_column,
                         int digits) {
  const double mean = row.number(column);
  const double min = row.number(min_column);
  const std::string text =
      fmt::format("{} {:.{}f}", column.name, mean, mean == min ? digits : std::max(digits, 1));
  return mean == min ? text : fmt::format("{} (min {:.{}f})", text, min, digits);
}

std::string describe_size(const ResultRow& row) {
  if (row.has(col::kOver) && row.text(col::kOver) != "sequences") {
    return fmt::format("data set of {}, dim {}, {} {:.3f}", row.text(col::kOver),
                       row.integer(col::kDim), col::kCeiling.name, row.number(col::kCeiling));
  }
  return fmt::format("dim {}, {}, {}", row.integer(col::kDim),
                     mean_and_min(row, col::kTokens, col::kTokensMin, 0),
                     mean_and_min(row, col::kCeiling, col::kCeilingMin, 3));
}

/// Returns "values (dim 32, tokens 64, ceiling 3.466)", with one entry per capture if they differ.
std::string block_heading(const RowPointers& rows, bool names_order) {
  std::vector<std::pair<std::string, std::string>> sizes;
  for (const ResultRow* row : rows) {
    std::pair<std::string, std::string> entry = {row->text(col::kLabel), describe_size(*row)};
    if (std::ranges::find(sizes, entry) == sizes.end()) sizes.push_back(std::move(entry));
  }
  std::string text = rows.front()->text(col::kSite);
  if (names_order) text += fmt::format(", alpha {}", rows.front()->number(col::kAlpha));
  const auto same_size = [&](const auto& entry) { return entry.second == sizes.front().second; };
  if (std::ranges::all_of(sizes, same_size)) {
    return fmt::format("{} ({})", text, sizes.front().second);
  }
  std::string list;
  for (const auto& [label, size] : sizes) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", label, size);
  }
  return fmt::format("{} ({})", text, list);
}

/// Returns a remark if a LIMe's `values` are compared with another decoder's; else empty.
std::string remark_on_values(const std::vector<ChosenCapture>& captures,
                             const EntropyOptions& options) {
  if (options.preset != EntropyPreset::kLimeCode) return "";
  std::string routed;
  bool has_plain = false;
  for (const ChosenCapture& capture : captures) {
    const bool shows_values = std::ranges::find(capture.parts, "values",
                                                &ChosenCapture::Part::site) != capture.parts.end();
    if (!shows_values) continue;
    if (reads_other_values(capture.reader)) {
      routed += (routed.empty() ? "'" : ", '") + capture.label + "'";
    } else {
      has_plain = true;
    }
  }
  if (routed.empty() || !has_plain) return "";
  return fmt::format(
      "values of {} are the output of W_V, not the values its attention reads; the LIMe code "
      "measures the latter, available with --site {}",
      routed, kPaperSite);
}

/// Returns one row per order of entropy, with the sequences' entropies as samples.
UnitResult entropy_result(const SequenceEntropies& entropies,
                          const EntropyAnalysisOptions& options) {
  UnitResult result;
  for (std::size_t order = 0; order < entropies.alpha.size(); ++order) {
    result.rows.push_back(row_of(entropies, order, options));
    result.samples.push_back({.key = {{col::kAlpha, entropies.alpha[order]}},
                              .quantity = "entropy",
                              .items = "sequences",
                              .values = entropies.of_order(order)});
  }
  return result;
}

/// Adds a row per order for one matrix with a row ("mean" or "last" token) per sequence.
void add_dataset_rows(const SequenceEntropies& entropies, std::string_view kind,
                      const EntropyAnalysisOptions& options, UnitResult& result) {
  for (ResultRow& row : result.rows) {
    if (!row.has(col::kOver)) row.set(col::kOver, "sequences");
  }
  for (std::size_t order = 0; order < entropies.alpha.size(); ++order) {
    ResultRow row = row_of(entropies, order, options);
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    set_summary(row, {.n = entropies.num_tokens.front(),
                      .mean = entropies.of_order(order).front(),
                      .std = kNone,
                      .ci_low = kNone,
                      .ci_high = kNone});
    row.set(col::kOver, fmt::format("{} rows", kind));
    result.rows.push_back(std::move(row));
  }
}

/// Returns the rows of Diff-eRank: the untrained minus the trained capture, sequence by sequence.
/// @param keys  of the units, in the order of `results`.
/// @throws InvalidArgument  if they have no site and layer in common.
std::vector<ResultRow> entropy_differences(const std::string& untrained, const std::string& trained,
                                           const std::vector<ResultRow>& keys,
                                           std::span<const UnitResult> results,
                                           const EntropyAnalysisOptions& options) {
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text(col::kLabel) != untrained) continue;
    ResultRow trained_key = keys[i];
    trained_key.set(col::kLabel, trained);
    const auto found = std::ranges::find(keys, trained_key);
    if (found == keys.end()) continue;
    const UnitResult& other = results[static_cast<std::size_t>(found - keys.begin())];
    ResultRow key = keys[i];
    key.set(col::kLabel, fmt::format("{} - {}", untrained, trained));
    for (std::size_t order = 0; order < results[i].rows.size(); ++order) {
      rows.push_back(difference_row(key, results[i], other, order, options));
    }
  }
  throw_if(rows.empty(), "diff-erank: '{}' and '{}' have no site and layer in common", untrained,
           trained);
  return rows;
}

void fill_entropy_report(Report& report, const std::vector<ChosenCapture>& captures,
                         const EntropyAnalysisOptions& options) {
  const bool several_orders = options.entropy.orders().size() > 1;
  if (several_orders) report.layout.block.emplace_back(col::kAlpha);
  if (!options.dataset.empty()) report.layout.block.emplace_back(col::kOver);
  report.layout.heading = [several_orders](const std::string&, const RowPointers& rows) {
    return block_heading(rows, several_orders);
  };
  if (options.entropy.top_k) {
    report.layout.low = col::kLower;
    report.layout.high = col::kUpper;
  } else if (options.summary.resamples == 0) {
    report.layout.hide_interval();
  }
  report.notes.push_back(what_is_measured(options.entropy));
  report.notes.push_back(fmt::format("preprocessing: {}", preprocessing(options.entropy.preset)));
  for (const ChosenCapture& capture : captures) report.notes.push_back(describe_sequences(capture));
  report.legend = what_cells_are(options);
  if (std::string remark = remark_on_values(captures, options.entropy); !remark.empty()) {
    report.remarks.push_back(std::move(remark));
  }
  if (options.entropy.top_k && !report.results.rows.empty()) {
    double most = 0.0;
    double widest = 0.0;
    for (const ResultRow& row : report.results.rows) {
      most = std::max(most, row.number(col::kLeftOut));
      widest = std::max(widest, row.number(col::kUpper) - row.number(col::kLower));
    }
    report.notes.push_back(
        fmt::format("omitted: eigenvalues with at most {:.2g}% of the trace; the bounds differ by "
                    "at most {:.3g}",
                    most * 100.0, widest));
  }
}

/// For what is small beside a sequence: chunks of the file, spectra, tables.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{4} << 20;

/// Returns the statistics of the whole capture, without skipped tokens.
std::optional<Standardization> standardization_of(const CaptureReader& capture,
                                                  const LayerPlace& place, EntropyPreset preset,
                                                  const UnitContext& context) {
  if (!needs_standardization(preset)) return std::nullopt;
  if (capture.skipped_tokens() == 0) {
    return make_standardization(capture.statistics(place.site, place.layer));
  }
  return make_standardization(
      statistics_of_rows(token_sequences(capture, place.site, place.layer, capture.num_sequences()),
                         context.pool, context.stop));
}

struct Shared {
  EntropyAnalysisOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::optional<Gpu> gpu;
};

/// Adds the host's memory: per thread the rows of a sequence in float and double and the work on
/// the smaller Gram matrix, or with a GPU the rows and the copy that it reads, and for its batches
/// means, scales and spectra.
void add_bytes(const Shared& shared, const ChosenCapture& capture, std::int64_t dim, Unit& unit) {
  const std::int64_t longest = longest_sequence(capture.reader, capture.num_sequences);
  const std::int64_t smaller = std::min(longest, dim);
  if (shared.gpu) {
    const std::int64_t batch = std::min(gpu_batch_size(longest, dim), capture.num_sequences);
    unit.bytes_per_thread = longest * dim * 8 + kWorkspaceBytes;
    unit.bytes += batch * (48 * dim + 24 * longest + 8 * smaller);
  } else {
    unit.bytes_per_thread = longest * dim * 12 + smaller * smaller * 24 + kWorkspaceBytes;
  }
}

/// One row per sequence of a layer, collected while its sequences are read.
struct DatasetRows {
  RowKind kind;
  EntropyPreset preset;
  MatrixF rows;  ///< [num_sequences, dim]

  void add(std::int64_t index, const MatrixF& sequence) {
    with_sequence("entropy", index, [&] {
      rows.row(index) = pooled_token(sequence, kind == RowKind::kLast, preset);
    });
  }
  /// Returns their entropies as of one sequence, standardised with its own statistics.
  SequenceEntropies measure(EntropyOptions options, ThreadPool& pool) const {
    options.is_preprocessed = preset == EntropyPreset::kLayerByLayer;
    std::optional<Standardization> standardization;
    if (needs_standardization(options.preset)) {
      RunningStatistics statistics;
      statistics.add(rows);
      standardization = make_standardization(statistics);
    }
    const SequenceSource one{1, [this](std::int64_t, MatrixF& sequence) { sequence = rows; }};
    return sequence_entropies(one, standardization, options, pool);
  }
};

/// Entropies of the sequences of one layer, read when their turn comes.
SequenceEntropies measure_layer(const Shared& shared, const LayerPlace& place,
                                const UnitContext& context, std::vector<DatasetRows>& datasets) {
  const EntropyAnalysisOptions& options = shared.options;
  const ChosenCapture& capture = shared.captures[place.capture];
  const std::optional<Standardization> standardization =
      standardization_of(capture.reader, place, options.entropy.preset, context);
  const std::int64_t count = capture.num_sequences;
  const std::int64_t dim = capture.reader.dim(place.site, place.layer);
  const SequenceSource stored = token_sequences(capture.reader, place.site, place.layer, count);
  for (const RowKind kind : options.dataset) {
    datasets.push_back({kind, options.entropy.preset, MatrixF(count, dim)});
  }
  const SequenceSource sequences{count, [&](std::int64_t index, MatrixF& rows) {
                                   stored.read(index, rows);
                                   for (DatasetRows& dataset : datasets) dataset.add(index, rows);
                                 }};
  if (shared.gpu) {
    const std::int64_t longest = longest_sequence(capture.reader, count);
    return gpu_entropies(*shared.gpu, sequences, standardization, options.entropy,
                         gpu_batch_size(longest, dim), context.pool, context.on_progress,
                         context.stop);
  }
  return sequence_entropies(sequences, standardization, options.entropy, context.pool,
                            context.on_progress, context.stop);
}

void complete_unit(Unit& unit, const std::shared_ptr<const Shared>& shared,
                   const LayerPlace& place) {
  const ChosenCapture& capture = shared->captures[place.capture];
  unit.identity = capture.identity;
  unit.work = capture.num_sequences;
  const std::int64_t dim = capture.reader.dim(place.site, place.layer);
  add_bytes(*shared, capture, dim, unit);
  unit.bytes += std::ssize(shared->options.dataset) * unit.work * dim * 16;
  unit.bytes += summary_bytes(1, shared->options.summary);
  unit.measure = [shared, place](const UnitContext& context) {
    std::vector<DatasetRows> datasets;
    UnitResult result =
        entropy_result(measure_layer(*shared, place, context, datasets), shared->options);
    for (const DatasetRows& dataset : datasets) {
      add_dataset_rows(dataset.measure(shared->options.entropy, context.pool),
                       enum_name(dataset.kind), shared->options, result);
    }
    return result;
  };
}

}  // namespace

void EntropyAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip(list);
  captures.describe_max_sequences(list);
  list.add("dataset", dataset,
           "also compute the entropy of the data set: of one matrix whose rows are the mean tokens "
           "or the last tokens of all sequences, or both");
  list.group("Entropy");
  entropy.describe(list);
  summary.describe(list);
  list.group("Running");
  list.add("device", device, "device for Gram matrices and eigenvalues: cpu, cuda or cuda:N");
}

void EntropyAnalysisOptions::validate() const {
  captures.validate();
  entropy.validate();
  summary.validate("bootstrap");
  for (const RowKind rows : dataset) {
    throw_if(rows == RowKind::kTokens, "dataset: must be mean, last or both, got tokens");
    throw_if(entropy.preset == EntropyPreset::kDiffErank,
             "dataset: is not supported by the preset diff-erank; omit --dataset");
  }
  throw_if(DeviceName::parse(device).is_gpu && entropy.top_k,
           "top_k: is supported on the CPU only, got device '{}'; omit --top-k or --device",
           device);
  throw_if(
      entropy.preset == EntropyPreset::kDiffErank && captures.captures.size() != 2,
      "diff-erank: expected two captures of the same text, the untrained model first, then the "
      "trained one, got {}",
      captures.captures.size());
}

Analysis prepare_entropy(const EntropyAnalysisOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    check_token_sequences(capture.reader, capture.num_sequences, "entropy");
    throw_if(!options.dataset.empty() && capture.num_sequences < 2,
             "{}: dataset needs at least 2 sequences, got {}", quoted_path(capture.reader),
             capture.num_sequences);
  }
  const DeviceName device = DeviceName::parse(options.device);
  if (device.is_gpu) {
    const std::optional<LaunchPlace> place = launch_place();
    shared->gpu.emplace(device, place ? place->local_rank : 0);
  }
  Analysis analysis = analysis_of("entropy", options, shared->captures);
  if (shared->gpu) analysis.device = shared->gpu->name();
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    complete_unit(unit, shared, place);
  });
  analysis.threads = UnitThreads::kInside;
  if (options.entropy.preset == EntropyPreset::kDiffErank) {
    check_same_tokens(shared->captures[0].reader, shared->captures[1].reader,
                      "diff-erank compares the same tokens in two models; capture both with the "
                      "same text and tokenizer");
    std::vector<ResultRow> keys;
    for (const Unit& unit : analysis.units) keys.push_back(unit.key);
    analysis.more_rows = [shared, keys](std::span<const UnitResult> results) {
      return entropy_differences(shared->captures[0].label, shared->captures[1].label, keys,
                                 results, shared->options);
    };
  }
  analysis.present = [shared](Report& report, auto) {
    fill_entropy_report(report, shared->captures, shared->options);
  };
  return analysis;
}

}  // namespace lime

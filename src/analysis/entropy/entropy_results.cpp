// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_results.h"

#include "analysis/engine/row_summaries.h"
#include "store/results/difference_name.h"

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

std::string unit(EntropyNormalization normalization) {
  switch (normalization) {
    case EntropyNormalization::kMaxEntropy: return "divided by min(ln tokens, ln dim)";
    case EntropyNormalization::kLogN: return "divided by ln tokens";
    case EntropyNormalization::kLogD: return "divided by ln dim";
    case EntropyNormalization::kLogNLogD: return "divided by (ln tokens * ln dim)";
    case EntropyNormalization::kRaw: break;
  }
  return "nats";
}

std::string unit(const EntropyOptions& options) {
  switch (preset_info(options.preset).scale) {
    case EntropyScale::kNats: break;
    case EntropyScale::kOfLogDim: return unit(EntropyNormalization::kLogD);
    case EntropyScale::kOfNormalization: return unit(options.normalization);
    case EntropyScale::kExponential: return "exponential of the entropy: an effective rank";
  }
  return "nats";
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

}  // namespace

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
    key.set(col::kLabel, difference_name(untrained, trained));
    for (std::size_t order = 0; order < results[i].rows.size(); ++order) {
      rows.push_back(difference_row(key, results[i], other, order, options));
    }
  }
  throw_if(rows.empty(), "diff-erank: '{}' and '{}' have no site and layer in common", untrained,
           trained);
  return rows;
}

void fill_entropy_report(Report& report, const std::vector<std::string>& inputs,
                         const EntropyAnalysisOptions& options) {
  const bool several_orders = options.entropy.orders().size() > 1;
  if (several_orders) report.layout.block.emplace_back(col::kAlpha);
  if (!options.dataset.empty()) report.layout.block.emplace_back(col::kOver);
  report.layout.heading = [several_orders](const RowPointers& rows) {
    return block_heading(rows, several_orders);
  };
  if (options.entropy.top_k) {
    report.layout.low = col::kLower;
    report.layout.high = col::kUpper;
  } else if (options.summary.resamples == 0) {
    report.layout.hide_interval();
  }
  report.notes.push_back(what_is_measured(options.entropy));
  report.notes.push_back(
      fmt::format("preprocessing: {}", preset_info(options.entropy.preset).preprocessing));
  report.notes.insert(report.notes.end(), inputs.begin(), inputs.end());
  report.legend = what_cells_are(options);
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

DatasetRows::DatasetRows(RowKind pooled, EntropyPreset used, std::int64_t count, std::int64_t dim)
    : kind(pooled), preset(used), rows(count, dim) {}

void DatasetRows::add(std::int64_t index, const MatrixF& sequence) {
  with_sequence("entropy", index,
                [&] { rows.row(index) = pooled_token(sequence, kind == RowKind::kLast, preset); });
}

SequenceEntropies DatasetRows::measure(EntropyOptions options, ThreadPool& pool) const {
  options.is_preprocessed = preset_info(preset).pools_preprocessed;
  std::optional<Standardization> standardization;
  if (needs_standardization(options.preset)) {
    RunningStatistics statistics;
    statistics.add(rows);
    standardization = make_standardization(statistics);
  }
  const SequenceSource sequence_source{
      1, [this](std::int64_t, MatrixF& sequence) { sequence = rows; }};
  return sequence_entropies(sequence_source, standardization, options, pool);
}

}  // namespace lime

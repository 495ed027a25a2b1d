// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_results.h"

#include <cmath>

#include "analysis/engine/row_summaries.h"
#include "metrics/attention/attention_profile.h"
#include "metrics/summary.h"
#include "store/results/matrix_rows.h"

namespace lime {
namespace {

constexpr auto kMeasures = static_cast<Eigen::Index>(kAttentionMeasures.size());
constexpr Eigen::Index kFirstShare = 3;
constexpr std::string_view kSinkRate = "sink_rate";

class SummaryRows {
 public:
  explicit SummaryRows(std::string over, const SummaryOptions& options)
      : over_(std::move(over)), summaries_(options) {}

  /// @param values, even  of every item, e.g. sequence
  void add(const ResultRow& key, std::string_view measure, std::vector<double> values,
           const std::vector<double>& even) {
    ResultRow row = key;
    row.set(col::kMeasure, measure);
    row.set(col::kOver, over_);
    summaries_.add_mean(row, rows_.size(), std::move(values));
    row.set(col::kEven, mean_of(even));
    rows_.push_back(std::move(row));
  }
  std::vector<ResultRow> take() {
    summaries_.fill(rows_);
    return std::move(rows_);
  }

 private:
  std::string over_;
  RowSummaries summaries_;
  std::vector<ResultRow> rows_;
};

std::vector<double> per_item(const AttentionItems& items,
                             const std::function<double(const MatrixD&)>& number_of) {
  std::vector<double> all;
  for (const MatrixD& item : items.values) all.push_back(number_of(item));
  return all;
}

std::vector<double> of_layer(const AttentionItems& items, Eigen::Index measure) {
  return per_item(items, [&](const MatrixD& item) { return item.col(measure).mean(); });
}

/// Returns the fraction of heads whose weight of the first token exceeds `threshold`.
std::vector<double> sink_rates(const AttentionItems& items, double threshold) {
  return per_item(items, [&](const MatrixD& item) {
    return (item.col(kFirstShare).array() > threshold).cast<double>().mean();
  });
}

std::vector<double> even_of(const AttentionItems& items, Eigen::Index measure) {
  const VectorD column = items.even.col(measure);
  return {column.begin(), column.end()};
}

void add_summaries(const AttentionItems& items, const std::vector<int>& heads, double threshold,
                   SummaryRows& rows) {
  for (Eigen::Index m = 0; m < kMeasures; ++m) {
    const std::vector<double> even = even_of(items, m);
    const std::string_view name = kAttentionMeasures[static_cast<std::size_t>(m)];
    for (std::size_t h = 0; h < heads.size(); ++h) {
      rows.add({{col::kKind, "head"}, {col::kHead, heads[h]}}, name,
               per_item(items,
                        [&](const MatrixD& item) { return item(static_cast<Eigen::Index>(h), m); }),
               even);
    }
    rows.add({{col::kKind, "layer"}, {col::kHeads, heads.size()}}, name, of_layer(items, m), even);
  }
  std::vector<double> even = even_of(items, kFirstShare);
  for (double& share : even) share = share > threshold ? 1.0 : 0.0;
  rows.add({{col::kKind, "layer"}, {col::kHeads, heads.size()}}, kSinkRate,
           sink_rates(items, threshold), even);
}

Eigen::RowVectorXd mean_over_queries(const MatrixD& profile, std::int64_t skipped) {
  return profile.bottomRows(profile.rows() - skipped).colwise().mean();
}

AttentionItems measure_sequences(const SelectedPatterns& prepared, int layer, std::int64_t skipped,
                                 const UnitContext& context) {
  AttentionItems items(prepared.num_sequences, std::ssize(prepared.heads));
  std::atomic<std::int64_t> done = 0;
  context.pool.parallel_for(
      prepared.num_sequences,
      [&](std::int64_t i) {
        items.set(i, prepared.patterns.profiles(layer, i, prepared.heads), skipped);
        const std::int64_t finished = ++done;
        context.report(finished, prepared.num_sequences);
      },
      context.stop);
  return items;
}

std::vector<ResultRow> query_summaries(const std::vector<MatrixD>& profiles,
                                       const std::vector<int>& heads,
                                       const AttentionOptions& options) {
  const std::int64_t skipped = options.skip_queries;
  const std::int64_t tokens = profiles.front().rows();
  AttentionItems items(tokens - skipped, std::ssize(heads));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    for (std::int64_t q = skipped; q < tokens; ++q) {
      items.values[static_cast<std::size_t>(q - skipped)].row(static_cast<Eigen::Index>(h)) =
          profiles[h].row(q);
    }
  }
  items.even = even_attention_profile(tokens).bottomRows(tokens - skipped);
  // The queries of one sequence are not independent samples: spread, but no interval.
  SummaryRows rows("queries", {.resamples = 0});
  add_summaries(items, heads, options.sink_threshold, rows);
  std::vector<ResultRow> all = rows.take();
  for (ResultRow& row : all) {
    row.erase(col::kCiLow);
    row.erase(col::kCiHigh);
  }
  return all;
}

/// Returns the weights of one head; a query does not attend to the keys after it.
ResultRow weights_row(const AttentionPatterns& attention, int head) {
  MatrixD pattern = attention.patterns[static_cast<std::size_t>(head)].cast<double>();
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    pattern.row(q).tail(pattern.cols() - q - 1).setConstant(NAN);
  }
  return matrix_row("attention", "weight", {{col::kHead, head}}, {pattern.rows(), pattern.cols()},
                    {pattern.data(), pattern.data() + pattern.size()});
}

ResultRow routed_row(const CaptureReader& capture, const AttentionPatterns& attention, int head,
                     std::int64_t query) {
  const RoutedAttention routed = routed_attention_of_query(capture, attention, head, query);
  const MatrixD shares = routed.shares.leftCols(query + 1);
  ResultRow row = matrix_row(
      "attention", "routed",
      {{col::kHead, head}, {col::kRoutedHead, attention.routed_head(head)}, {col::kQuery, query}},
      {shares.rows(), shares.cols()}, {shares.data(), shares.data() + shares.size()});
  return row.set(col::kBy, routed.of_values ? "values" : "scales");
}

/// Maximum number of lines of a printed table with heads; longer tables show layers only.
constexpr std::size_t kMaxLines = 80;
/// Patterns beyond which, and tokens beyond which, the terminal shows none.
constexpr std::size_t kMaxMaps = 4;
constexpr Eigen::Index kMaxMapTokens = 64;
constexpr double kPercent = 100.0;

/// Column of a measure: its name, heading, scale and digits.
struct MeasureColumn {
  std::string_view measure;
  const char* header;
  double scale;
  int digits;
};

constexpr std::array kColumns = {MeasureColumn{"entropy", "entropy", 1.0, 3},
                                 MeasureColumn{"effective_keys", "keys", 1.0, 2},
                                 MeasureColumn{"distance", "distance", 1.0, 2},
                                 MeasureColumn{"first_share", "first %", kPercent, 1},
                                 MeasureColumn{"previous_share", "previous %", kPercent, 1},
                                 MeasureColumn{"own_share", "own %", kPercent, 1},
                                 MeasureColumn{"sink_rate", "sinks %", kPercent, 1}};

constexpr const char* kUniformLine = "uniform";  // kind of the line below the layers of a label

/// Returns the measure `m` of a line with its spread; the value of uniform attention in the last.
TableCell cell_of(const Results& results, const ResultRow& line, std::size_t m) {
  const bool is_uniform = line.text(col::kKind) == kUniformLine;
  const auto is_shown = [&](const ResultRow& row) {
    return row.matches(
               {{col::kLabel, line.text(col::kLabel)}, {col::kMeasure, kColumns[m].measure}}) &&
           (is_uniform || (row.text(col::kKind) == line.text(col::kKind) &&
                           row.cell(col::kLayer) == line.cell(col::kLayer) &&
                           row.cell(col::kHead) == line.cell(col::kHead)));
  };
  const auto row = std::ranges::find_if(results.rows, is_shown);
  if (row == results.rows.end()) return "";
  const auto number = [&](const Column& column) { return kColumns[m].scale * row->number(column); };
  if (is_uniform) return NumberCell{number(col::kEven), kColumns[m].digits};
  return MeasuredCell{
      .value = number(col::kMean), .spread = number(col::kStd), .digits = kColumns[m].digits};
}

std::vector<std::string> labels_of(const Results& results) {
  return distinct(rows_with(results.rows, {{col::kKind, "layer"}}), col::kLabel);
}

bool shows_heads(const Results& results) {
  return rows_with(results.rows,
                   {{col::kKind, "head"}, {col::kMeasure, kAttentionMeasures.front()}})
             .size() <= kMaxLines;
}

/// Returns a row of each layer and head, and one for uniform attention below those of a label.
std::vector<ResultRow> table_lines(const Results& results) {
  const bool has_heads = shows_heads(results);
  std::vector<ResultRow> lines;
  for (const std::string& label : labels_of(results)) {
    for (const ResultRow* row : rows_with(
             results.rows, {{col::kLabel, label}, {col::kMeasure, kAttentionMeasures.front()}})) {
      // The mean over one head is that head.
      const bool is_shown = row->text(col::kKind) == "head"
                                ? has_heads
                                : !has_heads || row->integer(col::kHeads) != 1;
      if (is_shown) lines.push_back(*row);
    }
    lines.push_back({{col::kLabel, label}, {col::kKind, kUniformLine}});
  }
  return lines;
}

std::vector<TableColumn> attention_columns(const Results& results) {
  std::vector<TableColumn> columns;
  if (labels_of(results).size() > 1) columns.push_back(table_column(col::kLabel));
  columns.push_back({.header = "layer", .cell = [](const ResultRow& row) {
                       return row.has(col::kLayer) ? row.shown(col::kLayer) : kUniformLine;
                     }});
  if (shows_heads(results)) {
    columns.push_back({.header = "head", .cell = [](const ResultRow& row) {
                         return row.text(col::kKind) == "layer" ? "mean" : row.shown(col::kHead);
                       }});
  }
  for (std::size_t m = 0; m < kColumns.size(); ++m) {
    columns.push_back({.header = kColumns[m].header, .cell = [&results, m](const ResultRow& row) {
                         return cell_of(results, row, m);
                       }});
  }
  return columns;
}

/// The patterns of a sequence, by label, layer and head; without those of many tokens.
std::map<std::string, MatrixD> patterns_of(const Results& results) {
  std::map<std::string, MatrixD> patterns;
  for (const ResultRow* row : rows_with(results.rows, {{col::kKind, "weight"}})) {
    patterns[fmt::format("{}, layer {}, head {}", row->text(col::kLabel), row->integer(col::kLayer),
                         row->integer(col::kHead))] = matrix_of(array_in(*row, col::kWeight));
  }
  const bool is_long = std::ranges::any_of(
      patterns, [](const auto& pattern) { return pattern.second.rows() > kMaxMapTokens; });
  if (patterns.size() > kMaxMaps || is_long) return {};
  return patterns;
}

std::vector<ReportPart> attention_parts(const Results& results) {
  const std::vector<ResultRow> lines = table_lines(results);
  std::vector<ReportPart> parts = {{column_table(rows_with(lines), attention_columns(results))}};
  for (auto& [name, pattern] : patterns_of(results)) {
    const std::string title =
        fmt::format("{}: percentage of a query's attention (rows: queries, columns: keys)", name);
    parts.push_back({TextMap{title, pattern}});
  }
  return parts;
}

}  // namespace

AttentionItems::AttentionItems(std::int64_t count, std::int64_t num_heads)
    : values(static_cast<std::size_t>(count), MatrixD(num_heads, kMeasures)),
      even(count, kMeasures) {}

void AttentionItems::set(std::int64_t index, const std::vector<MatrixD>& profiles,
                         std::int64_t skipped) {
  MatrixD means(std::ssize(profiles), kMeasures);
  for (Eigen::Index h = 0; h < means.rows(); ++h) {
    means.row(h) = mean_over_queries(profiles[static_cast<std::size_t>(h)], skipped);
  }
  set(index, std::move(means), profiles.front().rows(), skipped);
}

void AttentionItems::set(std::int64_t index, MatrixD means, std::int64_t num_tokens,
                         std::int64_t skipped) {
  values[static_cast<std::size_t>(index)] = std::move(means);
  even.row(index) = mean_over_queries(even_attention_profile(num_tokens), skipped);
}

UnitResult summarize_sequences(const SelectedPatterns& selected, int layer,
                               const AttentionOptions& options, const UnitContext& context) {
  return attention_result(measure_sequences(selected, layer, options.skip_queries, context),
                          selected.heads, options);
}

UnitResult attention_result(const AttentionItems& items, const std::vector<int>& heads,
                            const AttentionOptions& options) {
  SummaryRows rows("sequences", options.summary);
  add_summaries(items, heads, options.sink_threshold, rows);
  UnitResult result;
  result.rows = rows.take();
  for (Eigen::Index m = 0; m < kMeasures; ++m) {
    result.samples.push_back(
        {.quantity = std::string(kAttentionMeasures[static_cast<std::size_t>(m)]),
         .items = "sequences",
         .values = of_layer(items, m)});
  }
  result.samples.push_back({.quantity = std::string(kSinkRate),
                            .items = "sequences",
                            .values = sink_rates(items, options.sink_threshold)});
  return result;
}

UnitResult describe_sequence(const SelectedPatterns& selected, int layer,
                             const AttentionOptions& options) {
  const AttentionPatterns attention = selected.patterns.read(layer, *options.sequence);
  UnitResult result;
  result.rows =
      query_summaries(selected.patterns.profiles(layer, *options.sequence, selected.heads),
                      selected.heads, options);
  for (const int head : selected.heads) {
    result.rows.push_back(weights_row(attention, head));
    if (options.query) {
      result.rows.push_back(
          routed_row(selected.patterns.capture(), attention, head, *options.query));
    }
  }
  return result;
}

void fill_attention_report(Report& report, const AttentionOptions& options) {
  report.notes = {
      "attention of queries: entropy (nats), its exponential (effective number of keys), mean",
      "distance (tokens back), fractions on the first, the previous and the query token",
      fmt::format("sinks: fraction of heads whose mean attention to the first token exceeds {:g}",
                  options.sink_threshold)};
  if (options.skip_queries > 0) {
    report.notes.push_back(fmt::format(
        "first {} of each sequence omitted; uniform: attention spread evenly over all keys",
        options.skip_queries == 1 ? "query" : fmt::format("{} queries", options.skip_queries)));
  } else {
    report.notes.emplace_back("uniform: attention spread evenly over all keys");
  }
  report.legend =
      options.sequence
          ? fmt::format("cells: mean, standard deviation over the queries of sequence {}",
                        *options.sequence)
          : "cells: mean, standard deviation over sequences of their means over queries";
  if (!shows_heads(report.results)) {
    report.notes.emplace_back("means over heads; JSON output and --head show individual heads");
  }
  report.parts = attention_parts;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_results.h"

#include <cmath>

#include "analysis/engine/row_summaries.h"
#include "core/number_text.h"
#include "store/results/difference_name.h"

namespace lime {
namespace {

constexpr const char* kTrained = "trained";
constexpr const char* kIdentity = "identity";
constexpr const char* kMean = "mean";

struct Series {
  std::string label;
  std::int64_t layer = 0;
  std::string router;
  ResultRow quantity;  ///< quantity and alpha
  const Samples* samples = nullptr;
};

std::vector<Series> all_series(const CounterfactualComparison& comparison,
                               std::span<const UnitResult> units) {
  std::vector<Series> all;
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const Samples& samples : units[i].samples) {
      Series& series = all.emplace_back(Series{comparison.keys[i].text(col::kLabel),
                                               comparison.keys[i].integer(col::kLayer),
                                               samples.key.text(col::kRouter),
                                               {{col::kQuantity, samples.quantity}},
                                               &samples});
      if (samples.key.has(col::kAlpha)) {
        series.quantity.set(col::kAlpha, samples.key.number(col::kAlpha));
      }
    }
  }
  return all;
}

/// Returns the distinct values of a member of the series of one label, in order of appearance.
template <typename T>
std::vector<T> distinct_of(const std::vector<Series>& all, const std::string& label,
                           T Series::*member) {
  std::vector<T> values;
  for (const Series& series : all) {
    if (series.label != label || std::ranges::find(values, series.*member) != values.end())
      continue;
    values.push_back(series.*member);
  }
  return values;
}

using LabelAndRouter = std::pair<std::string, std::string>;

/// Samples of one quantity under several routers, by layer: those that have all of them for the
/// same items.
using LayerSamples = std::map<std::int64_t, std::vector<const Samples*>>;

LayerSamples samples_of(const std::vector<Series>& all, const ResultRow& quantity,
                        const std::vector<LabelAndRouter>& routers, std::int64_t first_layer) {
  LayerSamples by_layer;
  for (const auto& [label, router] : routers) {
    for (const Series& series : all) {
      if (series.label != label || series.router != router || series.quantity != quantity ||
          series.layer < first_layer) {
        continue;
      }
      std::vector<const Samples*>& found = by_layer[series.layer];
      if (found.empty() || have_same_items(*found[0], *series.samples)) {
        found.push_back(series.samples);
      }
    }
  }
  std::erase_if(by_layer, [&](const auto& layer) { return layer.second.size() != routers.size(); });
  return by_layer;
}

std::vector<std::vector<double>> values_of(const std::vector<const Samples*>& routers) {
  std::vector<std::vector<double>> values;
  for (const Samples* samples : routers) values.push_back(samples->values);
  return values;
}

/// Returns the item-wise mean over the layers of each router.
std::vector<std::vector<double>> means_over(const LayerSamples& layers) {
  std::vector<std::vector<double>> means;
  for (const auto& [layer, routers] : layers) {
    means.resize(routers.size());
    for (std::size_t router = 0; router < routers.size(); ++router) {
      const std::vector<double>& values = routers[router]->values;
      means[router].resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        means[router][i] += values[i] / static_cast<double>(layers.size());
      }
    }
  }
  return means;
}

std::vector<ResultRow> mean_rows(const CounterfactualComparison& comparison,
                                 const std::vector<Series>& all) {
  const std::string& label = comparison.label;
  RowSummaries summaries(comparison.summary);
  std::vector<ResultRow> rows;
  for (const ResultRow& quantity : distinct_of(all, label, &Series::quantity)) {
    for (const std::string& router : distinct_of(all, label, &Series::router)) {
      const LayerSamples layers =
          samples_of(all, quantity, {{label, router}, {label, kTrained}}, 1);
      if (layers.empty()) continue;
      ResultRow row = {{col::kLabel, label},
                       {col::kSite, comparison.site},
                       {col::kLayer, nullptr},
                       {col::kRouter, router}};
      row.add(quantity).set(col::kLayers, layers.size());
      const std::vector<std::vector<double>> means = means_over(layers);
      summaries.add_mean(row, rows.size(), means[0]);
      if (router != kTrained) summaries.add_difference(row, rows.size(), means[0], means[1]);
      rows.push_back(std::move(row));
    }
  }
  summaries.fill(rows);
  return rows;
}

/// Adds a row per part of the gap; `key` comes first.
/// @param values  of the trained router, the identity and the plain transformer, item by item
void add_gap_rows(const ResultRow& key, const std::vector<std::vector<double>>& values,
                  const ResultRow& quantity, RowSummaries& summaries,
                  std::vector<ResultRow>& rows) {
  const auto minus = [&](std::size_t a, std::size_t b) {
    std::vector<double> difference = values[a];
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= values[b][i];
    return difference;
  };
  const std::pair<const char*, std::vector<double>> parts[] = {
      {"gap", minus(0, 2)}, {"projections", minus(1, 2)}, {"mixing", minus(0, 1)}};
  const double whole = mean_of(parts[0].second);
  for (const auto& [part, differences] : parts) {
    ResultRow row = key;
    row.set(col::kPart, part).add(quantity);
    summaries.add_mean(row, rows.size(), differences);
    if (whole != 0.0) row.set(col::kShare, mean_of(differences) / whole);
    rows.push_back(std::move(row));
  }
}

std::vector<ResultRow> all_gap_rows(const CounterfactualComparison& comparison,
                                    const std::vector<Series>& all) {
  std::vector<ResultRow> rows;
  RowSummaries summaries(comparison.summary);
  for (const ResultRow& quantity : distinct_of(all, comparison.against, &Series::quantity)) {
    const LayerSamples layers = samples_of(all, quantity,
                                           {{comparison.label, kTrained},
                                            {comparison.label, kIdentity},
                                            {comparison.against, kIdentity}},
                                           0);
    if (layers.empty()) continue;
    ResultRow key = {{col::kLabel, difference_name(comparison.label, comparison.against)},
                     {col::kSite, comparison.site},
                     {col::kLayer, nullptr}};
    ResultRow mean_key = key;
    mean_key.set(col::kLayers, layers.size());
    add_gap_rows(mean_key, means_over(layers), quantity, summaries, rows);
    for (const auto& [layer, routers] : layers) {
      key.set(col::kLayer, layer);
      add_gap_rows(key, values_of(routers), quantity, summaries, rows);
    }
  }
  summaries.fill(rows);
  return rows;
}

using Rows = RowPointers;

bool is_mean(const ResultRow& row) { return !row.has(col::kLayer); }

/// "entropy" or, where there are several orders, "entropy, alpha 2".
std::string quantity_name(const ResultRow& row, bool names_order) {
  std::string name = row.text(col::kQuantity);
  std::ranges::replace(name, '_', ' ');
  if (names_order && row.has(col::kAlpha)) {
    name += fmt::format(", alpha {}", row.number(col::kAlpha));
  }
  return name;
}

bool same_quantity(const ResultRow& a, const ResultRow& b) {
  return a.cell(col::kQuantity) == b.cell(col::kQuantity) &&
         a.cell(col::kAlpha) == b.cell(col::kAlpha);
}

Rows quantities_of(const Results& results) {
  Rows examples;
  for (const ResultRow& row : results.rows) {
    const bool known = std::ranges::any_of(
        examples, [&](const ResultRow* other) { return same_quantity(*other, row); });
    if (!known) examples.push_back(&row);
  }
  return examples;
}

bool has_several_orders(const Rows& quantities) {
  return std::ranges::count(quantities, "entropy",
                            [](const ResultRow* row) { return row->text(col::kQuantity); }) > 1;
}

/// Returns "0.123 [0.100, 0.150]", a mean with its interval, or a difference with its sign.
std::string interval(double mean, double low, double high, bool with_sign) {
  const auto text = [&](double value) {
    return (with_sign && value >= 0.0 ? "+" : "") + decimal_text(value, 3);
  };
  return std::isnan(low) ? text(mean)
                         : fmt::format("{} [{}, {}]", text(mean), text(low), text(high));
}

std::string mean_interval(const ResultRow& row, bool with_sign) {
  return interval(row.number(col::kMean), row.number(col::kCiLow), row.number(col::kCiHigh),
                  with_sign);
}

/// Parts of opposite signs have no shares in the whole.
bool is_share(double share) { return share >= 0.0 && share <= 1.0; }

/// "entropy: LIMe - LLaMA is +0.50 [...] = projections +0.29 [...] (58%) + mixing ...".
std::vector<std::string> gap_sentences(const Results& results) {
  std::vector<std::string> sentences;
  const bool orders = has_several_orders(quantities_of(results));
  for (const ResultRow& row : results.rows) {
    if (!is_mean(row) || row.text(col::kPart) != "gap") continue;
    std::string text =
        fmt::format("{}: {} is {} over {} layers", quantity_name(row, orders),
                    row.text(col::kLabel), mean_interval(row, true), row.shown(col::kLayers));
    const char* joint = " =";
    for (const ResultRow& part : results.rows) {
      const std::string name = part.text(col::kPart);
      if (!is_mean(part) || name.empty() || name == "gap" || !same_quantity(part, row)) continue;
      text += fmt::format("{} {} {}", joint, name, mean_interval(part, true));
      if (part.has(col::kShare) && is_share(part.number(col::kShare))) {
        text += fmt::format(" ({:.0f}%)", part.number(col::kShare) * 100.0);
      }
      joint = " +";
    }
    sentences.push_back(std::move(text));
  }
  return sentences;
}

/// Returns sentences on what the trained mixing adds to the values of the own layer, and what the
/// dependence on the token adds to the mean weights.
std::vector<std::string> mixing_sentences(const Results& results) {
  std::vector<std::string> sentences;
  const bool orders = has_several_orders(quantities_of(results));
  for (const ResultRow& row : results.rows) {
    const std::string& router = row.text(col::kRouter);
    if (!is_mean(row) || (router != kIdentity && router != kMean)) continue;
    const std::string& site = row.text(col::kSite);
    const bool is_stream = site != "values" && site != "keys";
    sentences.push_back(
        fmt::format("{}: difference of {} {}", quantity_name(row, orders),
                    router == kMean ? "each token's weights and their mean"
                    : is_stream     ? "mixed and plainly added outputs"
                                    : fmt::format("routed and own-layer {}", site),
                    interval(-row.number(col::kDifference), -row.number(col::kDifference.high),
                             -row.number(col::kDifference.low), true)));
  }
  return sentences;
}

Rows mean_rows_of_routers(const Results& results, const ResultRow& quantity) {
  Rows rows;
  for (const ResultRow& row : results.rows) {
    if (is_mean(row) && row.has(col::kRouter) && same_quantity(row, quantity)) rows.push_back(&row);
  }
  return rows;
}

std::string difference_cell(const ResultRow& row) {
  if (!row.has(col::kDifference)) return "";
  return interval(row.number(col::kDifference), row.number(col::kDifference.low),
                  row.number(col::kDifference.high), true);
}

std::vector<TableColumn> router_columns(const std::string& name) {
  return {table_column(col::kRouter),
          table_column(col::kLayers),
          {name, [](const ResultRow& row) { return mean_interval(row, false); }},
          {"difference to trained", difference_cell}};
}

/// Returns the rows of one quantity by layer, a series per text of `series`.
Table layers_table(const Results& rows, const Column& series, const std::string& heading,
                   bool has_spread) {
  TableLayout layout;
  layout.block = {col::kQuantity};
  layout.series = series;
  if (!has_spread) layout.spread = {};
  layout.ceiling = {};
  layout.heading = [&](const Rows&) { return heading; };
  return pivot_table(rows, layout);
}

/// Returns the rows per layer of one quantity that have a text in `column`.
Results rows_by_layer(const Results& results, const ResultRow& quantity, const Column& column,
                      const std::string& label = "") {
  Results selected;
  std::ranges::copy_if(results.rows, std::back_inserter(selected.rows), [&](const ResultRow& row) {
    return !is_mean(row) && row.has(column) && same_quantity(row, quantity) &&
           (label.empty() || row.text(col::kLabel) == label);
  });
  return selected;
}

/// Returns the tables of the terminal.
std::vector<Table> quantity_tables(const Results& results, const std::string& label) {
  const Rows quantities = quantities_of(results);
  const bool orders = has_several_orders(quantities);
  std::vector<Table> tables;
  for (const ResultRow* quantity : quantities) {
    const std::string name = quantity_name(*quantity, orders);
    const Rows means = mean_rows_of_routers(results, *quantity);
    if (!means.empty()) {
      tables.push_back(column_table(means, router_columns(name)));
      tables.back().title = name + ", mean over layers from 1 on";
    }
    if (const Results gap = rows_by_layer(results, *quantity, col::kPart); !gap.rows.empty()) {
      const std::string heading = fmt::format("{}, {}: the gap and its parts, by layer", name,
                                              gap.rows.front().text(col::kLabel));
      tables.push_back(layers_table(gap, col::kPart, heading, false));
    }
    const Results routed = rows_by_layer(results, *quantity, col::kRouter, label);
    if (routed.rows.empty()) continue;
    tables.push_back(
        layers_table(routed, col::kRouter, fmt::format("{} of {}, by layer", name, label), true));
  }
  return tables;
}

/// Returns the table of papers: all quantities, a line per router.
Table router_table(const Results& results) {
  Rows rows;
  const Rows quantities = quantities_of(results);
  const bool orders = has_several_orders(quantities);
  for (const ResultRow* quantity : quantities) {
    for (const ResultRow* row : mean_rows_of_routers(results, *quantity)) rows.push_back(row);
  }
  std::vector<TableColumn> columns = {
      {"Quantity", [orders](const ResultRow& row) { return quantity_name(row, orders); }, false}};
  for (TableColumn& column : router_columns("mean")) columns.push_back(std::move(column));
  return column_table(rows, columns,
                      [](const ResultRow& a, const ResultRow& b) { return !same_quantity(a, b); });
}

std::vector<ReportPart> counterfactual_parts(const Results& results, const std::string& label) {
  std::vector<ReportPart> parts;
  for (Table& table : quantity_tables(results, label)) {
    parts.push_back({std::move(table), ShownIn::kTerminal});
  }
  parts.push_back({router_table(results), ShownIn::kPaper});
  return parts;
}

}  // namespace

UnitResult counterfactual_result(const std::vector<RoutedQuantity>& quantities,
                                 const SummaryOptions& summary, const std::string& identity) {
  UnitResult result;
  RowSummaries summaries(summary);
  for (const RoutedQuantity& quantity : quantities) {
    ResultRow row = {{col::kRouter, quantity.router}, {col::kQuantity, quantity.quantity}};
    if (quantity.alpha) row.set(col::kAlpha, *quantity.alpha);
    ResultRow key = row;
    key.erase(col::kQuantity);
    const std::size_t place = result.rows.size();
    summaries.add_mean(row, place, quantity.values);
    row.set(col::kCeiling, quantity.ceiling);
    const auto trained = std::ranges::find_if(quantities, [&](const RoutedQuantity& other) {
      return other.router == kTrained && other.quantity == quantity.quantity &&
             other.alpha == quantity.alpha;
    });
    if (quantity.router != kTrained && trained != quantities.end()) {
      summaries.add_difference(row, place, quantity.values, trained->values);
    }
    result.rows.push_back(std::move(row));
    result.samples.push_back({.key = std::move(key),
                              .quantity = quantity.quantity,
                              .items = quantity.items,
                              .identity = identity,
                              .values = quantity.values});
  }
  summaries.fill(result.rows);
  return result;
}

std::vector<ResultRow> counterfactual_more_rows(const CounterfactualComparison& comparison,
                                                std::span<const UnitResult> units) {
  const std::vector<Series> all = all_series(comparison, units);
  std::vector<ResultRow> rows;
  if (!comparison.against.empty()) rows = all_gap_rows(comparison, all);
  std::ranges::move(mean_rows(comparison, all), std::back_inserter(rows));
  return rows;
}

void fill_counterfactual_report(Report& report, const CounterfactualComparison& comparison,
                                const std::vector<std::string>& notes) {
  report.notes = notes;
  std::ranges::move(gap_sentences(report.results), std::back_inserter(report.notes));
  std::ranges::move(mixing_sentences(report.results), std::back_inserter(report.notes));
  report.legend = fmt::format(
      "cells: mean and [{:g}% bootstrap interval]; differences are paired by item; per layer: "
      "mean and standard deviation",
      comparison.summary.confidence * 100.0);
  report.parts = [label = comparison.label](const Results& results) {
    return counterfactual_parts(results, label);
  };
}

}  // namespace lime

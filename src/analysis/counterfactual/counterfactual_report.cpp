// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/report/column_table.h"

namespace lime {
namespace {

using Rows = std::vector<const ResultRow*>;

bool is_mean(const ResultRow& row) { return !row.has(col::kLayer); }

/// "entropy" or, where there are several orders, "entropy, alpha 2".
std::string quantity_name(const ResultRow& row, bool names_order) {
  std::string name = row.text(col::kQuantity);
  std::replace(name.begin(), name.end(), '_', ' ');
  if (names_order && row.has(col::kAlpha)) {
    name += fmt::format(", alpha {}", row.number(col::kAlpha));
  }
  return name;
}

bool same_quantity(const ResultRow& a, const ResultRow& b) {
  return a.cell(col::kQuantity) == b.cell(col::kQuantity) &&
         a.cell(col::kAlpha) == b.cell(col::kAlpha);
}

/// One row of each quantity, in the order in which they appear.
Rows quantities_of(const Results& results) {
  Rows examples;
  for (const ResultRow& row : results.rows) {
    const bool known = std::any_of(examples.begin(), examples.end(), [&](const ResultRow* other) {
      return same_quantity(*other, row);
    });
    if (!known) examples.push_back(&row);
  }
  return examples;
}

bool has_several_orders(const Rows& quantities) {
  return std::count_if(quantities.begin(), quantities.end(), [](const ResultRow* row) {
           return row->text(col::kQuantity) == "entropy";
         }) > 1;
}

/// Returns "0.123 [0.100, 0.150]", a mean with its interval, or a difference with its sign.
std::string interval(double mean, double low, double high, bool with_sign) {
  const auto text = [&](double value) {
    return with_sign ? fmt::format("{:+.3f}", value) : fmt::format("{:.3f}", value);
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

/// "entropy: LIMe - LLaMA is +0.50 [...] = better projections +0.29 [...] (58 %) + mixing ...".
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
      text += fmt::format("{} {} {}", joint, name == "projections" ? "better projections" : name,
                          mean_interval(part, true));
      if (part.has(col::kShare) && is_share(part.number(col::kShare))) {
        text += fmt::format(" ({:.0f} %)", part.number(col::kShare) * 100.0);
      }
      joint = " +";
    }
    sentences.push_back(std::move(text));
  }
  return sentences;
}

/// Returns sentences on what the trained mixing adds to the values of the own layer.
std::vector<std::string> mixing_sentences(const Results& results) {
  std::vector<std::string> sentences;
  const bool orders = has_several_orders(quantities_of(results));
  for (const ResultRow& row : results.rows) {
    if (!is_mean(row) || row.text(col::kRouter) != "identity") continue;
    sentences.push_back(
        fmt::format("{}: difference of routed and own-layer values {}", quantity_name(row, orders),
                    interval(-row.number(col::kDifference), -row.number(col::kDifferenceHigh),
                             -row.number(col::kDifferenceLow), true)));
  }
  return sentences;
}

Rows mean_rows_of_routers(const Results& results, const ResultRow& quantity) {
  Rows rows;
  for (const ResultRow& row : results.rows) {
    if (is_mean(row) && row.has(col::kRouter) && same_quantity(row, quantity)) {
      rows.push_back(&row);
    }
  }
  return rows;
}

std::string difference_cell(const ResultRow& row) {
  if (!row.has(col::kDifference)) return "";
  return interval(row.number(col::kDifference), row.number(col::kDifferenceLow),
                  row.number(col::kDifferenceHigh), true);
}

std::vector<TableColumn> router_columns(const std::string& name) {
  return {table_column(col::kRouter),
          table_column(col::kLayers),
          {name, [](const ResultRow& row) { return mean_interval(row, false); }},
          {"difference to trained", difference_cell}};
}

/// Returns the rows of one quantity by layer, a series per text of `series`.
std::string layers_table(const Results& rows, const Column& series, const std::string& heading,
                         bool has_spread, const TextStyle& style) {
  TableLayout layout;
  layout.block = {col::kQuantity};
  layout.series = series;
  if (!has_spread) layout.spread = {};
  layout.ceiling = {};
  layout.heading = [&](const std::string&, const Rows&) { return heading; };
  return results_to_text(rows, layout, style);
}

/// Returns the rows per layer of one quantity that have a text in `column`.
Results rows_by_layer(const Results& results, const ResultRow& quantity, const Column& column,
                      const std::string& label = "") {
  Results chosen;
  std::copy_if(results.rows.begin(), results.rows.end(), std::back_inserter(chosen.rows),
               [&](const ResultRow& row) {
                 return !is_mean(row) && row.has(column) && same_quantity(row, quantity) &&
                        (label.empty() || row.text(col::kLabel) == label);
               });
  return chosen;
}

std::string counterfactual_text(const Results& results, const std::string& label,
                                const TextStyle& style) {
  const Rows quantities = quantities_of(results);
  const bool orders = has_several_orders(quantities);
  std::string text;
  for (const ResultRow* quantity : quantities) {
    const std::string name = quantity_name(*quantity, orders);
    const Rows means = mean_rows_of_routers(results, *quantity);
    if (!means.empty()) {
      text += fmt::format("{}, mean over layers from 1 on\n{}\n", name,
                          columns_to_text(means, router_columns(name), style));
    }
    if (const Results gap = rows_by_layer(results, *quantity, col::kPart); !gap.rows.empty()) {
      const std::string heading = fmt::format("{}, {}: the gap and its parts, by layer", name,
                                              gap.rows.front().text(col::kLabel));
      text += layers_table(gap, col::kPart, heading, false, style) + "\n";
    }
    text += layers_table(rows_by_layer(results, *quantity, col::kRouter, label), col::kRouter,
                         fmt::format("{} of {}, by layer", name, label), true, style) +
            "\n";
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string counterfactual_latex(const Results& results, const std::vector<std::string>& notes) {
  Rows rows;
  const Rows quantities = quantities_of(results);
  const bool orders = has_several_orders(quantities);
  for (const ResultRow* quantity : quantities) {
    for (const ResultRow* row : mean_rows_of_routers(results, *quantity)) rows.push_back(row);
  }
  std::vector<TableColumn> columns = {
      {"Quantity", [orders](const ResultRow& row) { return quantity_name(row, orders); }, false}};
  for (TableColumn& column : router_columns("mean")) columns.push_back(std::move(column));
  return columns_to_latex(rows, columns, notes, [](const ResultRow& a, const ResultRow& b) {
    return !same_quantity(a, b);
  });
}

}  // namespace

void fill_counterfactual_report(Report& report, const CounterfactualNotes& notes) {
  report.notes = notes.lines;
  for (std::string& line : gap_sentences(report.results)) report.notes.push_back(std::move(line));
  for (std::string& line : mixing_sentences(report.results))
    report.notes.push_back(std::move(line));
  report.legend = fmt::format(
      "cells: mean and [{:g} % bootstrap interval]; differences are paired by item; per layer: "
      "mean and standard deviation",
      notes.confidence * 100.0);
  report.text = [label = notes.label](const Results& table, const TextStyle& style) {
    return counterfactual_text(table, label, style);
  };
  report.latex = counterfactual_latex;
}

}  // namespace lime

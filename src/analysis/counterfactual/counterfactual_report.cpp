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

using Rows = std::vector<const Json*>;

std::string text_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() || !found->is_string() ? "" : found->get<std::string>();
}

bool is_mean(const Json& row) { return row.at("layer").is_null(); }

/// "entropy" or, where there are several orders, "entropy, alpha 2".
std::string quantity_name(const Json& row, bool names_order) {
  std::string name = text_of(row, "quantity");
  std::replace(name.begin(), name.end(), '_', ' ');
  if (names_order && row.contains("alpha")) {
    name += fmt::format(", alpha {}", results_number(row, "alpha"));
  }
  return name;
}

bool same_quantity(const Json& a, const Json& b) {
  const auto alpha = [](const Json& row) {
    return row.contains("alpha") ? results_number(row, "alpha") : -1.0;
  };
  return text_of(a, "quantity") == text_of(b, "quantity") && alpha(a) == alpha(b);
}

/// One row of each quantity, in the order in which they appear.
Rows quantities_of(const Results& results) {
  Rows examples;
  for (const Json& row : results.rows) {
    const bool known = std::any_of(examples.begin(), examples.end(),
                                   [&](const Json* other) { return same_quantity(*other, row); });
    if (!known) examples.push_back(&row);
  }
  return examples;
}

bool has_several_orders(const Rows& quantities) {
  return std::count_if(quantities.begin(), quantities.end(),
                       [](const Json* row) { return text_of(*row, "quantity") == "entropy"; }) > 1;
}

std::string interval(const Json& row, const char* mean, const char* low, const char* high,
                     bool with_sign) {
  const double value = results_number(row, mean);
  const std::string text = with_sign ? fmt::format("{:+.3f}", value) : fmt::format("{:.3f}", value);
  const double bottom = results_number(row, low);
  const double top = results_number(row, high);
  if (std::isnan(bottom)) return text;
  return with_sign ? fmt::format("{} [{:+.3f}, {:+.3f}]", text, bottom, top)
                   : fmt::format("{} [{:.3f}, {:.3f}]", text, bottom, top);
}

/// Parts of opposite signs have no shares in the whole.
bool is_share(double share) { return share >= 0.0 && share <= 1.0; }

/// "entropy: LIMe - LLaMA is +0.50 [...] = better projections +0.29 [...] (58 %) + mixing ...".
std::vector<std::string> gap_sentences(const Results& results) {
  std::vector<std::string> sentences;
  const bool orders = has_several_orders(quantities_of(results));
  for (const Json& row : results.rows) {
    if (!is_mean(row) || text_of(row, "part") != "gap") continue;
    std::string text = fmt::format(
        "{}: {} is {} over {} layers", quantity_name(row, orders), text_of(row, "label"),
        interval(row, "mean", "ci_low", "ci_high", true), row.at("layers").dump());
    const char* joint = " =";
    for (const Json& part : results.rows) {
      const std::string name = text_of(part, "part");
      if (!is_mean(part) || name.empty() || name == "gap" || !same_quantity(part, row)) continue;
      text += fmt::format("{} {} {}", joint, name == "projections" ? "better projections" : name,
                          interval(part, "mean", "ci_low", "ci_high", true));
      if (part.contains("share") && is_share(results_number(part, "share"))) {
        text += fmt::format(" ({:.0f} %)", results_number(part, "share") * 100.0);
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
  for (const Json& row : results.rows) {
    if (!is_mean(row) || text_of(row, "router") != "identity") continue;
    const double added = -results_number(row, "difference");
    const double low = -results_number(row, "difference_high");
    const double high = -results_number(row, "difference_low");
    std::string text = fmt::format("{}: difference of routed and own-layer values {:+.3f}",
                                   quantity_name(row, orders), added);
    if (!std::isnan(low)) text += fmt::format(" [{:+.3f}, {:+.3f}]", low, high);
    sentences.push_back(text);
  }
  return sentences;
}

Rows mean_rows_of_routers(const Results& results, const Json& quantity) {
  Rows rows;
  for (const Json& row : results.rows) {
    if (is_mean(row) && row.contains("router") && same_quantity(row, quantity)) {
      rows.push_back(&row);
    }
  }
  return rows;
}

std::string difference_cell(const Json& row) {
  if (!row.contains("difference")) return "";
  return interval(row, "difference", "difference_low", "difference_high", true);
}

std::vector<TableColumn> router_columns(const std::string& name) {
  return {
      {"router", text_cell("router"), false},
      {"layers", text_cell("layers")},
      {name, [](const Json& row) { return interval(row, "mean", "ci_low", "ci_high", false); }},
      {"difference to trained", difference_cell},
  };
}

/// The rows of one quantity by layer and router, for the table of TableLayout.
std::string layers_table(const Results& results, const Json& quantity, const std::string& name,
                         const std::string& label, const TextStyle& style) {
  Results chosen;
  for (const Json& row : results.rows) {
    const bool wanted = !is_mean(row) && row.contains("router") && text_of(row, "label") == label &&
                        same_quantity(row, quantity);
    if (wanted) chosen.rows.push_back(row);
  }
  TableLayout layout;
  layout.block = {"quantity"};
  layout.series = "router";
  layout.ceiling.clear();
  const std::string heading = fmt::format("{} of {}, by layer", name, label);
  layout.heading = [heading](const std::string&, const Rows&) { return heading; };
  return results_to_text(chosen, layout, style);
}

std::string gap_table(const Results& results, const Json& quantity, const std::string& name,
                      const TextStyle& style) {
  Results chosen;
  std::string label;
  for (const Json& row : results.rows) {
    if (is_mean(row) || !row.contains("part") || !same_quantity(row, quantity)) continue;
    label = text_of(row, "label");
    chosen.rows.push_back(row);
  }
  if (chosen.rows.empty()) return "";
  TableLayout layout;
  layout.block = {"quantity"};
  layout.series = "part";
  layout.spread.clear();
  layout.ceiling.clear();
  const std::string heading = fmt::format("{}, {}: the gap and its parts, by layer", name, label);
  layout.heading = [heading](const std::string&, const Rows&) { return heading; };
  return results_to_text(chosen, layout, style) + "\n";
}

std::string counterfactual_text(const Results& results, const std::string& label,
                                const TextStyle& style) {
  const Rows quantities = quantities_of(results);
  const bool orders = has_several_orders(quantities);
  std::string text;
  for (const Json* quantity : quantities) {
    const std::string name = quantity_name(*quantity, orders);
    const Rows means = mean_rows_of_routers(results, *quantity);
    if (!means.empty()) {
      text += fmt::format("{}, mean over layers from 1 on\n{}\n", name,
                          columns_to_text(means, router_columns(name), style));
    }
    text += gap_table(results, *quantity, name, style);
    text += layers_table(results, *quantity, name, label, style) + "\n";
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string counterfactual_latex(const Results& results, const std::vector<std::string>& notes) {
  Rows rows;
  const Rows quantities = quantities_of(results);
  const bool orders = has_several_orders(quantities);
  for (const Json* quantity : quantities) {
    for (const Json* row : mean_rows_of_routers(results, *quantity)) rows.push_back(row);
  }
  std::vector<TableColumn> columns = {
      {"Quantity", [orders](const Json& row) { return quantity_name(row, orders); }, false}};
  for (TableColumn& column : router_columns("mean")) columns.push_back(std::move(column));
  return columns_to_latex(rows, columns, notes,
                          [](const Json& a, const Json& b) { return !same_quantity(a, b); });
}

}  // namespace

Report make_counterfactual_report(Results results, const CounterfactualNotes& notes) {
  Report report;
  report.notes = notes.lines;
  for (std::string& line : gap_sentences(results)) report.notes.push_back(std::move(line));
  for (std::string& line : mixing_sentences(results)) report.notes.push_back(std::move(line));
  report.legend = fmt::format(
      "cells: mean and [{:g} % bootstrap interval]; differences are paired by item; per layer: "
      "mean and standard deviation",
      notes.confidence * 100.0);
  report.text = [label = notes.label](const Results& table, const TextStyle& style) {
    return counterfactual_text(table, label, style);
  };
  report.latex = counterfactual_latex;
  report.results = std::move(results);
  return report;
}

}  // namespace lime

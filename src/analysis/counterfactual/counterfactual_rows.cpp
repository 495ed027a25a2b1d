// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/engine/row_summaries.h"

namespace lime {
namespace {

constexpr const char* kTrained = "trained";
constexpr const char* kIdentity = "identity";

/// Identifies a quantity, the same for all routers.
ResultRow quantity_key(const ResultRow& sample_key, const std::string& quantity) {
  ResultRow key = {{col::kQuantity, quantity}};
  if (sample_key.has(col::kAlpha)) key.set(col::kAlpha, sample_key.number(col::kAlpha));
  return key;
}

/// Values of one router and quantity in one layer.
struct Series {
  std::string label;
  std::int64_t layer = 0;
  std::string router;
  ResultRow quantity;  ///< quantity and alpha
  std::string identity;
  std::vector<double> values;
};

std::vector<Series> all_series(const CounterfactualComparison& comparison,
                               std::span<const UnitResult> units) {
  std::vector<Series> series;
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const Samples& samples : units[i].samples) {
      series.push_back({comparison.keys[i].text(col::kLabel),
                        comparison.keys[i].integer(col::kLayer), samples.key.text(col::kRouter),
                        quantity_key(samples.key, samples.quantity), samples.identity,
                        samples.values});
    }
  }
  return series;
}

const Series* find(const std::vector<Series>& all, const std::string& label, std::int64_t layer,
                   const std::string& router, const ResultRow& quantity) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Series& entry) {
    return entry.label == label && entry.layer == layer && entry.router == router &&
           entry.quantity == quantity;
  });
  return found == all.end() ? nullptr : &*found;
}

template <typename T>
void add_distinct(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// Returns the distinct values in `all`, in order of first appearance.
struct Axes {
  std::vector<std::string> routers;
  std::vector<ResultRow> quantities;
  std::vector<std::int64_t> layers;
};

Axes axes_of(const std::vector<Series>& all, const std::string& label) {
  Axes axes;
  for (const Series& series : all) {
    if (series.label != label) continue;
    add_distinct(axes.routers, series.router);
    add_distinct(axes.quantities, series.quantity);
    add_distinct(axes.layers, series.layer);
  }
  std::sort(axes.layers.begin(), axes.layers.end());
  return axes;
}

/// Returns the item-wise mean of several series of equal length.
std::vector<double> item_means(const std::vector<const Series*>& several) {
  std::vector<double> mean(several.front()->values.size(), 0.0);
  for (const Series* series : several) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += series->values[i] / static_cast<double>(several.size());
    }
  }
  return mean;
}

/// Returns `{"label", "site", "layer": null}`, the key of means over layers.
ResultRow mean_row(const std::string& label, const std::string& site) {
  return {{col::kLabel, label}, {col::kSite, site}, {col::kLayer, nullptr}};
}

std::vector<ResultRow> mean_rows(const CounterfactualComparison& comparison,
                                 const std::vector<Series>& all) {
  const Axes axes = axes_of(all, comparison.label);
  RowSummaries summaries(comparison.summary);
  std::vector<ResultRow> rows;
  for (const ResultRow& quantity : axes.quantities) {
    for (const std::string& router : axes.routers) {
      std::vector<const Series*> own;
      std::vector<const Series*> trained;
      for (const std::int64_t layer : axes.layers) {
        const Series* const series = find(all, comparison.label, layer, router, quantity);
        const Series* const other = find(all, comparison.label, layer, kTrained, quantity);
        if (layer == 0 || series == nullptr || other == nullptr) continue;
        own.push_back(series);
        trained.push_back(other);
      }
      if (own.empty()) continue;
      ResultRow row = mean_row(comparison.label, comparison.site);
      row.set(col::kRouter, router);
      row.add(quantity);
      row.set(col::kLayers, own.size());
      summaries.add_mean(row, rows.size(), item_means(own));
      if (router != kTrained) {
        summaries.add_difference(row, rows.size(), item_means(own), item_means(trained));
      }
      rows.push_back(std::move(row));
    }
  }
  summaries.fill(rows);
  return rows;
}

/// The three series that split the gap, item by item.
struct Gap {
  std::vector<double> trained;
  std::vector<double> identity;
  std::vector<double> plain;
};

/// Adds a row per part of the gap; `key` comes first.
void add_gap_rows(const ResultRow& key, const Gap& gap, const ResultRow& quantity,
                  RowSummaries& summaries, std::vector<ResultRow>& rows) {
  const auto minus = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> difference;
    for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
    return difference;
  };
  const std::pair<const char*, std::vector<double>> parts[] = {
      {"gap", minus(gap.trained, gap.plain)},
      {"projections", minus(gap.identity, gap.plain)},
      {"mixing", minus(gap.trained, gap.identity)},
  };
  const double whole = summarize(parts[0].second, {.resamples = 0}).mean;
  for (const auto& [part, values] : parts) {
    ResultRow row = key;
    row.set(col::kPart, part);
    row.add(quantity);
    summaries.add_mean(row, rows.size(), values);
    if (whole != 0.0) row.set(col::kShare, summarize(values, {.resamples = 0}).mean / whole);
    rows.push_back(std::move(row));
  }
}

std::vector<ResultRow> all_gap_rows(const CounterfactualComparison& comparison,
                                    const std::vector<Series>& all) {
  std::vector<ResultRow> rows;
  RowSummaries summaries(comparison.summary);
  const Axes axes = axes_of(all, comparison.against);
  const std::string label = fmt::format("{} - {}", comparison.label, comparison.against);
  for (const ResultRow& quantity : axes.quantities) {
    std::vector<std::int64_t> layers;
    std::vector<const Series*> trained;
    std::vector<const Series*> identity;
    std::vector<const Series*> plain;
    for (const std::int64_t layer : axes.layers) {
      const Series* const a = find(all, comparison.label, layer, kTrained, quantity);
      const Series* const b = find(all, comparison.label, layer, kIdentity, quantity);
      const Series* const c = find(all, comparison.against, layer, kIdentity, quantity);
      const bool comparable = a != nullptr && b != nullptr && c != nullptr &&
                              a->identity == c->identity && a->values.size() == c->values.size();
      if (!comparable) continue;
      layers.push_back(layer);
      trained.push_back(a);
      identity.push_back(b);
      plain.push_back(c);
    }
    if (trained.empty()) continue;
    ResultRow mean_key = mean_row(label, comparison.site);
    mean_key.set(col::kLayers, trained.size());
    add_gap_rows(mean_key, {item_means(trained), item_means(identity), item_means(plain)}, quantity,
                 summaries, rows);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const ResultRow key = {
          {col::kLabel, label}, {col::kSite, comparison.site}, {col::kLayer, layers[i]}};
      add_gap_rows(key, {trained[i]->values, identity[i]->values, plain[i]->values}, quantity,
                   summaries, rows);
    }
  }
  summaries.fill(rows);
  return rows;
}

}  // namespace

UnitResult counterfactual_result(const std::vector<RoutedQuantity>& quantities,
                                 const SummaryOptions& summary, const std::string& identity) {
  UnitResult result;
  RowSummaries summaries(summary);
  for (const RoutedQuantity& quantity : quantities) {
    ResultRow row = {{col::kRouter, quantity.router}, {col::kQuantity, quantity.quantity}};
    ResultRow key = {{col::kRouter, quantity.router}};
    if (quantity.alpha) {
      row.set(col::kAlpha, *quantity.alpha);
      key.set(col::kAlpha, *quantity.alpha);
    }
    const std::size_t place = result.rows.size();
    summaries.add_mean(row, place, quantity.values);
    row.set(col::kCeiling, quantity.ceiling);
    const auto trained =
        std::find_if(quantities.begin(), quantities.end(), [&](const RoutedQuantity& other) {
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
  for (ResultRow& row : mean_rows(comparison, all)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace lime

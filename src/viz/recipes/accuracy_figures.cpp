// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/accuracy_figures.h"

#include <array>
#include <cmath>
#include <set>

#include "core/number_text.h"
#include "core/table_cell.h"
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr const char* kMean = "mean over tasks";
constexpr std::size_t kLongestNameInColumn = 30;  // letters

std::string plain(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

FigureRows accuracy_rows(FigureSources sources, const FigureOptions& options) {
  return rows_where(rows_of(sources, options), [](const FigureRow& row) {
    return row.text(col::kKind).empty() && row.has(col::kLevel);
  });
}

FigureRows rows_of_level(const FigureRows& rows, BlimpGroups level) {
  const FigureRows part = rows_with(rows, {{col::kLevel, enum_name(level)}});
  throw_if(part.empty(), OptionName("by"), "the results contain no rows by {} (their levels: {})",
           enum_name(level), fmt::join(distinct(rows, col::kLevel), ", "));
  return part;
}

/// Returns accuracies of probes over the layers: a panel per site and group.
Figure probe_curves(const FigureRows& rows, FigureSources sources, const FigureOptions& options) {
  const FigureRows part = rows_of_level(rows, options.by.value_or(BlimpGroups::kAll));
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> sites = sites_of(rows);
  const std::vector<std::string> names = distinct(part, col::kName);
  Figure figure;
  for (const std::string& name : names) {
    for (const std::string& site : sites) {
      const FigureRows drawn = rows_with(part, {{col::kName, name}, {col::kSite, site}});
      FigurePanel panel = layer_panel(drawn, {.y_label = "accuracy"}, labels, options);
      std::get<CurvePanel>(panel.content)
          .references.push_back({.y = 0.5, .label = "chance", .in_legend = true});
      panel.title =
          joined_parts({names.size() > 1 ? plain(name) : "", sites.size() > 1 ? site : ""});
      figure.panels.push_back(std::move(panel));
    }
  }
  figure.note = site_note(sites);
  add_note(figure, intervals_note(figure, sources));
  figure.shares_y = true;
  lay_out(figure, options, 0, 3);
  return figure;
}

/// Returns the stars of a model at the mean over tasks, if it was compared with the first model.
std::vector<std::string> mean_stars(const FigureRows& comparisons, const std::string& label,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> stars;
  for (const FigureRow& row : comparisons) {
    const bool is_of_all = row.text(col::kTask).empty();
    const bool is_with_first = row.text(col::kBaseline) == comparisons.front().text(col::kBaseline);
    if (row.text(col::kLabel) != label || !is_of_all || !is_with_first) continue;
    for (const std::string& name : names) {
      stars.push_back(name == "all" ? stars_of_p(row.number(col::kPHolm)) : "");
    }
    return stars;
  }
  return stars;
}

/// Returns zero-shot accuracies: a bar per phenomenon and model, the mean over tasks first.
Figure zero_shot_bars(const FigureRows& rows, const FigureRows& comparisons,
                      const FigureOptions& options) {
  const BlimpGroups level = options.by.value_or(BlimpGroups::kLinguisticsTerm);
  FigureRows part = rows_of_level(rows, BlimpGroups::kAll);
  if (level != BlimpGroups::kAll) {
    const FigureRows more = rows_of_level(rows, level);
    part.insert(part.end(), more.begin(), more.end());
  }
  BarPanel bars = bars_of(part, col::kName, col::kMean,
                          [](const FigureRow& row) { return row.text(col::kLabel); });
  bool has_stars = false;
  for (BarPanel::Series& series : bars.series) {
    series.stars = mean_stars(comparisons, series.label, bars.groups);
    has_stars = has_stars || !series.stars.empty();
  }
  std::size_t longest = 0;
  for (std::string& group : bars.groups) {
    longest = std::max(longest, group.size());
    group = group == "all" ? kMean : plain(group);
  }
  bars.reference = ReferenceLine{.y = 0.5, .label = "chance", .in_legend = true};
  Figure figure;
  figure.panels.push_back(
      {.x = {.label = "accuracy", .min = 0.0, .max = 1.0}, .content = std::move(bars)});
  if (has_stars) {
    figure.note = fmt::format("difference to {} over all pairs: {}",
                              comparisons.front().text(col::kBaseline), kStarsNote);
  }
  figure.is_wide = longest > kLongestNameInColumn;
  return figure;
}

std::string axis_name(const std::string& measure) {
  return measure == "acc" ? "accuracy" : measure_name(measure);
}

/// Returns a group of bars per task, the mean over tasks first or last as in the rows.
FigurePanel task_bars(const FigureRows& rows, const Column& task, const Column& value,
                      const std::string& axis, std::string (*series_of)(const FigureRow&)) {
  BarPanel bars = bars_of(rows, task, value, series_of);
  std::ranges::replace(bars.groups, "all", kMean);
  return {.x = {.label = axis}, .content = std::move(bars)};
}

/// Spread shown next to the accuracy in a cell.
enum class CellSpread { kNone, kInterval, kOverLayers, kOverFolds };

struct AccuracyCell {
  TableCell cell = "";
  CellSpread spread = CellSpread::kNone;
};

/// Returns mean and standard deviation (ddof 0) of one group's accuracies over its layers.
AccuracyCell cell_over_layers(const FigureRows& rows) {
  const auto count = static_cast<double>(rows.size());
  double mean = 0.0;
  for (const FigureRow& row : rows) mean += row.number(col::kMean) / count;
  double variance = 0.0;
  for (const FigureRow& row : rows) variance += std::pow(row.number(col::kMean) - mean, 2) / count;
  return {MeasuredCell{.value = 100.0 * mean, .spread = 100.0 * std::sqrt(variance), .digits = 1},
          CellSpread::kOverLayers};
}

/// Returns an accuracy with its interval or, for tasks of probes, with the deviation of the folds.
AccuracyCell cell_of_row(const FigureRow& row) {
  MeasuredCell cell{.value = 100.0 * row.number(col::kMean), .digits = 1};
  const double low = 100.0 * row.number(col::kCiLow);
  const double high = 100.0 * row.number(col::kCiHigh);
  if (std::isfinite(low) && std::isfinite(high)) {
    cell.interval = {low, high};
    return {cell, CellSpread::kInterval};
  }
  if (row.text(col::kLevel) == enum_name(BlimpGroups::kTask) && row.has(col::kStd)) {
    cell.spread = 100.0 * row.number(col::kStd);
    return {cell, CellSpread::kOverFolds};
  }
  return {cell};
}

/// Returns "layers 1-4", "layer 4" or "layers 1, 3"; empty for rows without layers.
std::string layers_text(const FigureRows& rows, int base) {
  std::set<int> layers;
  for (const FigureRow& row : rows) {
    if (row.has(col::kLayer)) layers.insert(row.index(col::kLayer, kMaxLayers) + base);
  }
  if (layers.empty()) return "";
  if (layers.size() == 1) return fmt::format("layer {}", *layers.begin());
  const int first = *layers.begin();
  const int last = *layers.rbegin();
  if (last - first + 1 == std::ssize(layers)) return fmt::format("layers {}-{}", first, last);
  return fmt::format("layers {}", fmt::join(layers, ", "));
}

/// Returns "67,000 pairs", the maximum over the rows; empty if they have no count.
std::string count_note(const FigureRows& rows, const Column& column) {
  double most = 0.0;
  for (const FigureRow& row : rows) {
    if (row.has(column)) most = std::max(most, row.number(column));
  }
  if (most <= 0.0) return "";
  const std::string_view name = column.name;
  return fmt::format("{} {}", with_commas(most),
                     most == 1.0 ? name.substr(0, name.size() - 1) : name);
}

/// Returns a description of the table: "probes, layers 0-4, 67 tasks, 67,000 pairs, 5 folds".
/// @param all  rows of the mean over tasks.
std::string about_note(const FigureRows& all, FigureSources sources, int layer_base) {
  const bool is_probe = all.front().has(col::kLayer);
  const double folds = is_probe ? option_number(sources.front(), "folds", 0.0) : 0.0;
  return joined_parts({is_probe ? "probes" : "zero-shot", layers_text(all, layer_base),
                       count_note(all, col::kTasks), count_note(all, col::kPairs),
                       folds > 0.0 ? fmt::format("{:.0f} folds", folds) : ""});
}

std::string spread_note(CellSpread spread, FigureSources sources) {
  if (spread == CellSpread::kInterval) {
    return fmt::format("[ ]: {:.6g}% intervals",
                       100.0 * option_number(sources.front(), "confidence", 0.95));
  }
  if (spread == CellSpread::kOverLayers) return "means \xC2\xB1 standard deviation over the layers";
  return spread == CellSpread::kOverFolds ? "\xC2\xB1: standard deviation over the folds" : "";
}

/// A column of the table: label and, for probes, site.
using TableModel = std::array<std::string, 2>;

std::vector<TableCell> table_line(const FigureRows& rows, const std::string& name,
                                  const std::vector<TableModel>& models,
                                  std::set<CellSpread>& spreads) {
  std::vector<TableCell> cells;
  for (const TableModel& model : models) {
    const FigureRows own =
        rows_with(rows, {{col::kName, name}, {col::kLabel, model[0]}, {col::kSite, model[1]}});
    AccuracyCell cell;
    if (!own.empty()) cell = own.size() > 1 ? cell_over_layers(own) : cell_of_row(own.front());
    spreads.insert(cell.spread);
    cells.push_back(cell.cell);
  }
  return cells;
}

}  // namespace

Figure blimp_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = accuracy_rows(sources, options);
  if (rows.empty()) throw NothingToShow("figure: no row contains an accuracy");
  if (rows.front().has(col::kLayer)) return probe_curves(rows, sources, options);
  const FigureRows comparisons = rows_with(rows_of(sources, options), {{col::kKind, "comparison"}});
  Figure figure = zero_shot_bars(rows, comparisons, options);
  add_note(figure, intervals_note(figure, sources));
  return figure;
}

Figure blimp_table(FigureSources sources, const FigureOptions& options) {
  FigureRows all = accuracy_rows(sources, options);
  if (all.empty()) throw NothingToShow("figure: no row contains an accuracy");
  if (all.front().has(col::kLayer)) {
    all = rows_of_layers(all, options);
  } else if (!options.layer.empty()) {
    throw InvalidArgument(OptionName("layer"), "zero-shot accuracies have no layers");
  }
  const FigureRows groups = rows_of_level(all, options.by.value_or(BlimpGroups::kLinguisticsTerm));
  const std::vector<TableModel> models = distinct_texts(groups, col::kLabel, col::kSite);
  TablePanel table;
  table.head = {"accuracy (%)"};
  for (const auto& [label, site] : models) {
    table.head.push_back(site.empty() ? label : fmt::format("{}, {}", label, site));
  }
  std::set<CellSpread> spreads;
  const auto add_line = [&](const FigureRows& rows, const std::string& name,
                            const std::string& shown) {
    std::vector<TableCell> line = {shown};
    const std::vector<TableCell> cells = table_line(rows, name, models, spreads);
    line.insert(line.end(), cells.begin(), cells.end());
    table.rows.push_back(std::move(line));
  };
  for (const std::string& name : distinct(groups, col::kName)) add_line(groups, name, plain(name));
  const int num_groups = static_cast<int>(table.rows.size());
  add_line(rows_of_level(all, BlimpGroups::kAll), "all", kMean);
  // The mean of one group is that group.
  const bool repeats = num_groups == 1 && std::equal(table.rows[0].begin() + 1, table.rows[0].end(),
                                                     table.rows[1].begin() + 1);
  if (repeats) table.rows.pop_back();
  if (!repeats) table.rules = {num_groups};
  Figure figure;
  figure.note = about_note(rows_of_level(all, BlimpGroups::kAll), sources, options.layer_base);
  for (const CellSpread spread : spreads) add_note(figure, spread_note(spread, sources));
  figure.is_wide = models.size() > 2 || !models.front()[1].empty();
  figure.panels.push_back({.content = std::move(table)});
  return figure;
}

Figure choices_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows all = rows_of(sources, options);
  const std::string measure = options.measure.empty() ? "acc" : options.measure.front();
  const FigureRows means = rows_where(all, [&](const FigureRow& row) {
    return !row.has(col::kKind) && !row.has(col::kLayer) && row.text(col::kMeasure) == measure;
  });
  throw_if(means.empty(), OptionName("measure"), "the results contain no '{}' (they contain: {})",
           measure, fmt::join(distinct(all, col::kMeasure), ", "));
  Figure figure;
  figure.is_wide = true;
  figure.panels = {task_bars(means, col::kName, col::kMean, axis_name(measure),
                             [](const FigureRow& row) { return row.text(col::kLabel); })};
  figure.note = intervals_note(figure, sources);
  const FigureRows differences =
      rows_with(all, {{col::kKind, "comparison"}, {col::kQuantity, measure}});
  if (differences.empty()) return figure;
  figure.panels.push_back(task_bars(
      differences, col::kTask, col::kDifference,
      fmt::format("\xCE\x94 {}, paired", axis_name(measure)), [](const FigureRow& row) {
        return fmt::format("{} \xE2\x88\x92 {}", row.text(col::kLabel), row.text(col::kBaseline));
      }));
  // A difference has the colour of the model that is compared with the first one.
  auto& bars = std::get<BarPanel>(figure.panels.back().content).series;
  for (std::size_t s = 0; s < bars.size(); ++s) bars[s].style = model_style(s + 1);
  figure.columns = 2;
  add_note(figure, "sign-flip test: * p < 0.05, ** p < 0.01, *** p < 0.001");
  return figure;
}

Figure choices_layers_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    const bool is_accuracy = row.text(col::kMeasure) == "acc" || row.text(col::kMeasure) == "probe";
    return is_accuracy && row.has(col::kLayer) && !row.has(col::kKind);
  });
  throw_if<NothingToShow>(
      rows.empty(), "figure: the results contain no layers; evaluate with lime-eval --layers all");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  for (const std::string& task : distinct(rows, col::kName)) {
    const FigureRows own = rows_with(rows, {{col::kName, task}});
    CurvePanel curves;
    for (std::size_t m = 0; m < labels.size(); ++m) {
      for (const bool is_probe : {false, true}) {
        const FigureRows part =
            rows_with(own, {{col::kLabel, labels[m]}, {col::kMeasure, is_probe ? "probe" : "acc"}});
        if (part.empty()) continue;
        SeriesStyle style = model_style(m);
        if (is_probe) style.pattern = LinePattern::kDashed;
        curves.curves.push_back(layer_curve(part, {}, options.layer_base,
                                            labels[m] + (is_probe ? ", probe" : ", logit lens"),
                                            style));
      }
    }
    figure.panels.push_back({.title = task == "all" ? kMean : task,
                             .x = {.label = "layer", .whole_numbers = true},
                             .y = {.label = "accuracy"},
                             .content = std::move(curves)});
  }
  lay_out(figure, options, 0, 3);
  figure.note = intervals_note(figure, sources);
  return figure;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/collapse_figure.h"

#include <cmath>

#include "analysis/collapse/verdict_text.h"
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// A change of the participation ratio by less is no cliff.
constexpr double kSmallestCliff = 2.0;

constexpr const char* kCliff = "cliff";

/// A curve of a panel: a column with or without interval, and its name.
struct CauseCurve {
  Column value;
  Column low;
  Column high;
  std::string name;
  SeriesStyle style;
};

/// Numbers of styles, which the legend of all panels shares: a cause, and what is without it,
/// differ.
enum CauseStyle : std::size_t {
  kTokens,
  kDimensions,
  kCommon,
  kEqual,
  kWithoutTokens,
  kWithoutDimensions,
  kWithoutBoth
};

/// All rows: grey.
SeriesStyle style_of_all() { return {.colour = kMutedColour, .marker = MarkerShape::kDisc}; }

CauseCurve measured_curve(const MeasuredColumn& column, std::string name,
                          const SeriesStyle& style) {
  return {column, column.low, column.high, std::move(name), style};
}

FigurePanel cause_panel(const FigureRows& rows, const std::vector<CauseCurve>& curves,
                        const std::string& y_label, int layer_base) {
  FigurePanel panel;
  panel.x = {.label = "layer", .whole_numbers = true};
  panel.y = {.label = y_label};
  CurvePanel content;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const LayerCurves columns{
        .value = curves[i].value, .low = curves[i].low, .high = curves[i].high};
    content.curves.push_back(
        layer_curve(rows, columns, layer_base, curves[i].name, curves[i].style));
  }
  panel.content = std::move(content);
  return panel;
}

/// The layer before which the participation ratio changes most, if the lower side has a cause.
struct Cliff {
  std::size_t at = 0;  ///< index of its row
  bool falls = false;
  std::string cause;
};

/// Returns true if a cause of a layer is certain. Files before `certain` only say the causes.
bool has_certain_cause(const FigureRow& row) {
  return row.row->cell(col::kCertain).boolean().value_or(row.text(col::kVerdict) != kNoCause);
}

std::optional<Cliff> cliff_of(const FigureRows& rows) {
  double largest = std::log(kSmallestCliff);
  std::optional<Cliff> cliff;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const double before = rows[i - 1].number(col::kParticipation);
    const double after = rows[i].number(col::kParticipation);
    const double change = std::abs(std::log(after / before));
    const bool falls = after < before;
    const FigureRow& lower = rows[falls ? i : i - 1];
    if (!(change > largest) || !has_certain_cause(lower)) continue;
    largest = change;
    cliff = {i, falls, lower.text(col::kVerdict)};
  }
  return cliff;
}

std::string cliff_note(const Cliff& cliff, double layer) {
  return fmt::format("{} at layer {:.0f}, the participation ratio {}: {}", kCliff, layer,
                     cliff.falls ? "falls" : "rises", cliff.cause);
}

/// Marks the cliff with what causes it. @return a note on it; empty if there is none
std::string mark_cliff(const FigureRows& rows, int layer_base, Curve& curve) {
  const std::optional<Cliff> cliff = cliff_of(rows);
  if (!cliff) return "";
  const double layer = rows[cliff->at].number(col::kLayer) + layer_base;
  curve.stars.assign(curve.x.size(), "");
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (curve.x[i] == layer) curve.stars[i] = kCliff;
  }
  return cliff_note(*cliff, layer);
}

}  // namespace

Figure collapse_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    return row.text(col::kKind).empty() && row.has(col::kVerdict);
  });
  if (rows.empty()) throw NothingToShow("figure: no row contains a verdict on a layer");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> sites = sites_of(rows);
  const double share = option_number(sources.front(), "share", 0.5);
  Figure figure;
  for (const std::string& label : labels) {
    for (const std::string& site : sites) {
      const FigureRows own = rows_with(rows, {{col::kLabel, label}, {col::kSite, site}});
      if (own.empty()) continue;
      const std::string title =
          joined_parts({labels.size() > 1 ? label : "", sites.size() > 1 ? site : ""});
      figure.panels.push_back(cause_panel(
          own,
          {measured_curve(col::kMassiveShare, "massive tokens", group_style(kTokens)),
           measured_curve(col::kDimensionShare, "outlier dimensions", group_style(kDimensions)),
           measured_curve(col::kCommonShare, "common direction", group_style(kCommon)),
           measured_curve(col::kIntraclass, "equal tokens", group_style(kEqual))},
          "share", options.layer_base));
      FigurePanel& shares = figure.panels.back();
      shares.y.min = 0.0;
      shares.y.max = 1.0;
      std::get<CurvePanel>(shares.content).references.push_back({.y = share, .label = "threshold"});
      figure.panels.push_back(cause_panel(
          own,
          {{col::kParticipation, {}, {}, "all", style_of_all()},
           {col::kParticipationWithoutTokens,
            {},
            {},
            "without massive tokens",
            group_style(kWithoutTokens)},
           {col::kParticipationWithoutDimensions,
            {},
            {},
            "without outlier dimensions",
            group_style(kWithoutDimensions)},
           {col::kParticipationRest, {}, {}, "without both", group_style(kWithoutBoth)}},
          "participation ratio", options.layer_base));
      figure.panels.back().y.logarithmic = true;
      add_note(
          figure,
          joined_parts(
              {title,
               mark_cliff(own, options.layer_base,
                          std::get<CurvePanel>(figure.panels.back().content).curves.front())}));
      figure.panels.push_back(
          cause_panel(own,
                      {measured_curve(col::kSequenceEntropy, "all", style_of_all()),
                       measured_curve(col::kSequenceEntropyWithout, "without massive tokens",
                                      group_style(kWithoutTokens))},
                      "entropy (nats)", options.layer_base));
      for (std::size_t i = figure.panels.size() - 3; i < figure.panels.size(); ++i) {
        figure.panels[i].title = title;
      }
    }
  }
  lay_out(figure, options, 3, 2);
  add_note(figure, site_note(sites));
  add_note(figure, intervals_note(figure, sources, "", "intervals over sequences"));
  return figure;
}

std::optional<CollapseCliff> mark_collapse(Figure& figure, const Results& results,
                                           const std::string& label, const std::string& site,
                                           int layer_base) {
  const std::filesystem::path file = "collapse";
  std::vector<RangeMark> marks;
  std::vector<std::string> verdicts;
  FigureRows layers;
  for (const ResultRow& row : results.rows) {
    if (row.text(col::kLabel) != label || row.text(col::kSite) != site) continue;
    const std::string& verdict = row.text(col::kVerdict);
    if (!row.has(col::kLastLayer)) {
      layers.push_back({.row = &row, .file = &file});
    } else if (verdict != kNoCause) {
      if (std::ranges::find(verdicts, verdict) == verdicts.end()) verdicts.push_back(verdict);
      const auto at = std::ranges::find(verdicts, verdict) - verdicts.begin();
      marks.push_back({.low = static_cast<double>(row.integer(col::kLayer) + layer_base) - 0.5,
                       .high = static_cast<double>(row.integer(col::kLastLayer) + layer_base) + 0.5,
                       .label = std::string(1, static_cast<char>('A' + at)),
                       .name = verdict});
    }
  }
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    add_note(figure, fmt::format("{}: {}", static_cast<char>('A' + i), verdicts[i]));
  }
  std::optional<CollapseCliff> found;
  if (const std::optional<Cliff> cliff = cliff_of(layers)) {
    const double layer = layers[cliff->at].number(col::kLayer) + layer_base;
    marks.push_back({.low = layer - 0.5, .high = layer - 0.5, .label = kCliff});
    found = {static_cast<int>(std::lround(layer)) - layer_base, cliff_note(*cliff, layer)};
    add_note(figure, found->note);
  }
  for (FigurePanel& panel : figure.panels) {
    if (auto* const curves = std::get_if<CurvePanel>(&panel.content)) curves->ranges = marks;
  }
  return found;
}

}  // namespace lime

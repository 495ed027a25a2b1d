// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/audit_figure.h"

#include <cmath>

#include "analysis/audit/audit_changes.h"
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// Ends of the colours, in half-widths: a change of a tenth is hardly visible in a plot with
/// intervals, one of a hundred fills it.
constexpr std::pair<double, double> kAuditColours = {0.1, 100.0};
constexpr double kHeightOfLine = 0.045;  // of the width

using MeasureName = std::array<std::string, 2>;  // measurement, measure

FigureAxis name_axis(const std::vector<std::string>& names, bool is_downward) {
  FigureAxis axis;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t at = is_downward ? names.size() - 1 - i : i;
    axis.ticks.push_back({static_cast<double>(at), names[i]});
  }
  return axis;
}

/// Returns the measures of a site of which a change has an interval.
std::vector<MeasureName> moving_measures(const FigureRows& rows) {
  std::vector<MeasureName> moving;
  for (const FigureRow& row : rows) {
    if (is_still(*row.row) || !row.has(col::kHalfWidths)) continue;
    MeasureName name = {row.text(col::kQuantity), row.text(col::kMeasure)};
    if (!contains(moving, name)) moving.push_back(std::move(name));
  }
  return moving;
}

FigurePanel audit_panel(const FigureRows& rows, const std::vector<std::string>& variants,
                        const std::vector<MeasureName>& measures) {
  MatrixD values = MatrixD::Constant(std::ssize(measures), std::ssize(variants),
                                     std::numeric_limits<double>::quiet_NaN());
  for (const FigureRow& row : rows) {
    const auto line =
        std::ranges::find(measures, MeasureName{row.text(col::kQuantity), row.text(col::kMeasure)});
    const auto column = std::ranges::find(variants, row.text(col::kLabel));
    if (line == measures.end() || is_still(*row.row) || !row.has(col::kHalfWidths)) continue;
    const Eigen::Index from_below = measures.end() - line - 1;
    values(from_below, column - variants.begin()) =
        std::min(row.number(col::kHalfWidths), kAuditColours.second);
  }
  std::vector<std::string> names;
  for (const auto& [quantity, measure] : measures) {
    names.push_back(measure == "entropy" ? quantity : fmt::format("{}: {}", quantity, measure));
  }
  FigurePanel panel{.x = name_axis(variants, false), .y = name_axis(names, true)};
  panel.content = HeatmapPanel{.values = std::move(values)};
  return panel;
}

}  // namespace

Figure audit_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    return row.text(col::kKind).empty() && row.has(col::kRelativeChange);
  });
  const std::vector<std::string> variants = distinct(rows, col::kLabel);
  Figure figure;
  std::size_t most_lines = 0;
  for (const std::string& site : sites_of(rows)) {
    const FigureRows own = rows_with(rows, {{col::kSite, site}});
    const std::vector<MeasureName> measures = moving_measures(own);
    if (measures.empty()) continue;
    most_lines = std::max(most_lines, measures.size());
    figure.panels.push_back(audit_panel(own, variants, measures));
    figure.panels.back().title = site;
  }
  throw_if<NothingToShow>(figure.panels.empty(),
                          "figure: no measure with an interval moves in these results");
  figure.columns = options.columns > 0 ? options.columns : 1;
  figure.is_wide = true;
  figure.colour_range = kAuditColours;
  figure.logarithmic_colours = true;
  figure.colour_label = "change (half-widths of the interval)";
  figure.panel_aspect = std::max(0.3, kHeightOfLine * static_cast<double>(most_lines));
  figure.note = "empty cells do not move; measures without an interval are omitted";
  return figure;
}

}  // namespace lime

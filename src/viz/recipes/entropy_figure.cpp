// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/errors.h"
#include "viz/figure_columns.h"
#include "viz/recipes/entropy_kind.h"
#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr std::size_t kMostSitesInARow = 3;

/// Returns "entropy (nats)"; a rank is not called entropy.
std::string axis_label(const std::string& unit) {
  if (unit == "rank") return "effective rank";
  return fmt::format("entropy ({})", unit.empty() ? "nats" : unit);
}

/// Returns "100 sequences", or the range over the rows; empty if no row has a count.
std::string sequences_text(const std::vector<FigureRow>& rows) {
  std::vector<double> counts;
  for (const FigureRow& row : rows) {
    if (row.has(col::kN)) counts.push_back(row.number(col::kN));
  }
  if (counts.empty()) return "";
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*least == *most) return fmt::format("{} sequence{}", *most, *most == 1.0 ? "" : "s");
  return fmt::format("{} to {} sequences", *least, *most);
}

FigurePanel entropy_panel(const std::vector<FigureRow>& rows, const std::string& unit,
                          const std::vector<std::string>& labels, const FigureOptions& options) {
  LayerCurves columns;
  columns.ceiling = col::kCeiling;
  columns.ceiling_label = "ceiling";
  columns.y_label = axis_label(unit);
  return layer_panel(rows, columns, labels, options);
}

}  // namespace

Figure entropy_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  std::vector<FigureRow> rows = rows_of(sources, options);
  // Rows of differences and means over layers have no ceiling.
  std::erase_if(rows, [](const FigureRow& row) { return !row.has(col::kCeiling); });
  if (rows.empty()) throw NothingToShow("figure: no row contains the entropy of a layer");
  const std::vector<EntropyKind> kinds = entropy_kinds(rows, sources);
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> sites = sites_of(rows);
  Figure figure;
  for (const EntropyKind& kind : kinds) {
    for (const std::string& site : sites) {
      const std::vector<FigureRow> part = rows_where(rows, [&](const FigureRow& row) {
        return row.text(col::kSite) == site && entropy_kind_of(row, sources) == kind;
      });
      if (part.empty()) continue;
      figure.panels.push_back(entropy_panel(part, kind.unit, labels, options));
      figure.panels.back().title =
          joined_parts({sites.size() > 1 ? site : "", distinction_of(kind, kinds)});
    }
  }
  // One row per kind, if all of them have all of a few sites.
  const bool is_grid = kinds.size() > 1 && sites.size() > 1 && sites.size() <= kMostSitesInARow &&
                       figure.panels.size() == kinds.size() * sites.size();
  const int by_site = is_grid ? static_cast<int>(sites.size()) : 0;
  figure.columns =
      columns_for(figure.panels.size(), options.columns > 0 ? options.columns : by_site);
  figure.is_wide = figure.columns >= 2;
  figure.note = site_note(sites);
  add_note(figure, joined_parts({"matrix-based entropy", common_of(kinds), sequences_text(rows)}));
  add_note(figure, intervals_note(figure, sources, "", "bootstrap intervals over sequences"));
  return figure;
}

}  // namespace lime

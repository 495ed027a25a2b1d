// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_pgfplots.h"

#include <set>

#include "viz/class_colours.h"
#include "viz/colour.h"
#include "viz/figure_extents.h"
#include "viz/figure_legend.h"
#include "viz/figure_size.h"
#include "viz/pgfplots_plots.h"

namespace lime {
namespace {

constexpr double kTicks = 6.0;  // approximate number on a layer axis
constexpr double kMargin = 0.05;
constexpr double kSmallestMm = 10.0;  // minimum panel size
constexpr double kLineMm = 2.8;       // height of a tick label
constexpr double kLetterMm = 1.3;     // letter width of a tick label
constexpr double kBelowMm = 14.0;     // a panel's tick labels, axis label and a line of title
constexpr double kTitleMm = 3.6;      // a second line of a title
constexpr double kAroundMm = 15.0;    // legend and note
constexpr double kBesideMm = 5.0;     // bars, without the letters of their names
constexpr int kMaxNumbers = 10;       // ticks of a crowded axis

/// Returns `axis` with the ticks that fit along `length` mm if their labels are rotated.
FigureAxis fitting_axis(FigureAxis axis, double length) {
  if (!axis.if_crowded || static_cast<double>(axis.ticks.size()) * kLineMm <= length) return axis;
  const std::vector<AxisTick>& numbers = axis.if_crowded->ticks;
  const double letters = static_cast<double>(numbers.back().label.size()) + 1.0;
  const int most = std::clamp(static_cast<int>(length / (kLetterMm * letters)), 2, kMaxNumbers);
  const int step = round_step(static_cast<int>(numbers.size()), most);
  axis.ticks.clear();
  for (std::size_t i = 0; i < numbers.size(); i += static_cast<std::size_t>(step)) {
    axis.ticks.push_back(numbers[i]);
  }
  if (!axis.label.empty()) axis.label += axis.if_crowded->addition;
  axis.if_crowded.reset();
  return axis;
}

void add_ticks(std::string& options, const char* name, const FigureAxis& axis) {
  if (axis.hides_numbers) options += fmt::format(", {}tick=\\empty", name);
  if (axis.ticks.empty()) return;
  std::string places;
  std::string labels;
  for (const AxisTick& tick : axis.ticks) {
    places += fmt::format("{}{}", places.empty() ? "" : ",", tick.at);
    labels += fmt::format("{{{}}},", latex_text(tick.label));
  }
  options += fmt::format(", {0}tick={{{1}}}, {0}ticklabels={{{2}}}", name, places, labels);
}

std::string shared_y_options(const Figure& figure) {
  Extent y;
  for (const FigurePanel& panel : figure.panels) {
    if (!std::holds_alternative<CurvePanel>(panel.content) || panel.y.min || panel.y.max) return "";
    const Extent own = extents_of(panel).y;
    y.add({own.low, own.high});
  }
  if (y.empty()) return "";
  const double margin = std::max(kMargin * (y.high - y.low), 1e-9);
  return fmt::format(", ymin={}, ymax={}", y.low - margin, y.high + margin);
}

std::string tables_to_latex(const Figure& figure) {
  std::string tex =
      "% made by lime-figure\n\\documentclass{standalone}\n\\usepackage{booktabs}\n"
      "\\begin{document}\n";
  for (const FigurePanel& panel : figure.panels) {
    const auto* const table = std::get_if<TablePanel>(&panel.content);
    if (table == nullptr) continue;
    const auto add_line = [&](const std::vector<TableCell>& cells) {
      for (std::size_t c = 0; c < cells.size(); ++c) {
        tex += fmt::format("{}{}", c == 0 ? "" : " & ", latex_text(cell_text(cells[c])));
      }
      tex += " \\\\\n";
    };
    tex += fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n",
                       std::string(table->head.size() - 1, 'r'));
    add_line({table->head.begin(), table->head.end()});
    tex += "\\midrule\n";
    for (std::size_t r = 0; r < table->rows.size(); ++r) {
      const auto& rules = table->rules;
      if (std::ranges::find(rules, static_cast<int>(r)) != rules.end()) tex += "\\midrule\n";
      add_line(table->rows[r]);
    }
    tex += "\\bottomrule\n\\end{tabular}\n";
  }
  return tex + "\\end{document}\n";
}

std::string content_options(const FigurePanel& panel, const Figure& figure, bool has_bar) {
  std::string options;
  if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    options += fmt::format(
        ", xbar, bar width={}pt, y dir=reverse, enlarge y limits={{abs=0.6}}, ytick={{0,...,{}}}, "
        "yticklabels={{",
        bars->series.size() > 1 ? 3 : 5, bars->groups.size() - 1);
    for (const std::string& group : bars->groups) {
      options += fmt::format("{{{}}},", latex_text(group));
    }
    return options + "}";
  }
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
    if (const Extent x = extents_of(panel).x; panel.x.whole_numbers && !x.empty()) {
      options +=
          fmt::format(", xtick distance={}", std::max(1.0, std::round((x.high - x.low) / kTicks)));
    }
    const bool has_stars = std::any_of(curves->curves.begin(), curves->curves.end(),
                                       [](const Curve& curve) { return !curve.stars.empty(); });
    if (has_stars) options += ", enlarge y limits=0.15";
  }
  add_ticks(options, "x", panel.x);
  add_ticks(options, "y", panel.y);
  if (panel.x.if_crowded) options += ", xticklabel style={rotate=90, anchor=east}";
  if (std::holds_alternative<ScatterPanel>(panel.content)) options += ", axis equal";
  if (std::holds_alternative<HeatmapPanel>(panel.content)) {
    const auto [low, high] = colour_range_of(figure);
    options += fmt::format(
        ", enlargelimits=false, colormap name=lime, point meta min={}, point meta max={}", low,
        high);
    if (has_bar) {
      options +=
          fmt::format(", colorbar, colorbar style={{ylabel={{{}}}, width=2mm, at={{(1.04,1)}}}}",
                      latex_text(figure.colour_label));
    }
  }
  return options;
}

std::string axis_options(const FigurePanel& panel, const Figure& figure, bool has_bar) {
  std::string options =
      fmt::format("title={{{}}}, xlabel={{{}}}, ylabel={{{}}}", latex_text(panel.title),
                  latex_text(panel.x.label), latex_text(panel.y.label));
  if (panel.x.logarithmic) options += ", xmode=log";
  if (panel.y.logarithmic) options += ", ymode=log";
  const auto limit = [&](const char* name, const std::optional<double>& value) {
    if (value) options += fmt::format(", {}={}", name, *value);
  };
  limit("xmin", panel.x.min);
  limit("xmax", panel.x.max);
  limit("ymin", panel.y.min);
  limit("ymax", panel.y.max);
  return options + content_options(panel, figure, has_bar);
}

/// Returns the colours of groups that are no models.
std::set<std::size_t> group_colours_of(const Figure& figure) {
  std::set<std::size_t> colours;
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const points = std::get_if<ScatterPanel>(&panel.content)) {
      if (points->class_names.empty()) colours.insert(group_colour(0));
      for (const std::size_t colour : class_colours(points->class_names)) colours.insert(colour);
    } else if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) colours.insert(curve.style.colour);
    }
  }
  std::erase_if(colours, [](std::size_t colour) {
    return !is_group_colour(colour) && !is_step_colour(colour);
  });
  return colours;
}

std::string definition(std::size_t colour, const Colour& c) {
  return fmt::format("\\definecolor{{{}}}{{RGB}}{{{},{},{}}}\n", pgfplots_colour(colour), c.red,
                     c.green, c.blue);
}

void add_colours(std::string& tex, const Figure& figure, const FigureStyle& style) {
  const std::size_t num_classes = num_colours_of(figure);
  for (std::size_t i = 0; i < num_classes; ++i) {
    const Colour c = class_colour(style.palette, i, num_classes);
    tex += definition(i, c);
  }
  for (const std::size_t colour : group_colours_of(figure)) {
    tex += definition(colour, colour_of_group(style.palette, colour, false));
  }
  const auto [low, high] = colour_range_of(figure);
  const HeatmapPalette palette = style.map_palette.value_or(low < 0.0 ? HeatmapPalette::kGreenPurple
                                                                      : HeatmapPalette::kViridis);
  tex += "\\pgfplotsset{colormap={lime}{";
  for (int i = 0; i <= 16; ++i) {
    const Colour c = heatmap_colour(palette, i / 16.0);
    tex += fmt::format("rgb255=({},{},{}) ", c.red, c.green, c.blue);
  }
  tex += "}}\n";
}

/// Returns the entries of the shared legend, attached to the first panel.
std::string legend_entries(const Figure& figure) {
  const std::vector<LegendEntry> entries = legend_of(figure);
  if (entries.size() < 2) return "";
  std::string tex;
  const bool is_bars = std::holds_alternative<BarPanel>(figure.panels.front().content);
  for (const LegendEntry& entry : entries) {
    std::string style = pgfplots_style(entry.style);
    if (!entry.is_line) {
      style = fmt::format("only marks, mark=*, mark size=1.5pt, {}",
                          pgfplots_colour(entry.style.colour));
    }
    // Bar axes draw a box for every legend entry.
    if (is_bars) {
      style = fmt::format("legend image code/.code={{\\{}}}",
                          entry.is_line ? "draw[gray, dashed] (0mm,0mm) -- (4mm,0mm);"
                                        : fmt::format("fill[{}] (0mm,-1mm) rectangle (3mm,1mm);",
                                                      pgfplots_colour(entry.style.colour)));
    }
    tex += fmt::format("\\addlegendimage{{{}}}\n\\addlegendentry{{{}}}\n", style,
                       latex_text(entry.label));
  }
  return tex;
}

/// Returns true if a title needs a second line above a panel `width` mm wide.
bool has_long_title(const Figure& figure, double width) {
  constexpr double kTitleLetterMm = 1.7;
  return std::ranges::any_of(figure.panels, [&](const FigurePanel& panel) {
    return kTitleLetterMm * static_cast<double>(panel.title.size()) > width;
  });
}

/// Returns TeX that makes the figure exactly as wide as `sheet`, and as high if that is fixed: it
/// measures the figure and gives the difference to the panels, since only TeX knows its labels.
/// @param inner  width of a panel in mm to start from.
std::string fitting_commands(const Figure& figure, const FigureSize& sheet, int columns, int rows,
                             double inner) {
  const auto* const bars = std::get_if<BarPanel>(&figure.panels.front().content);
  const bool has_lines = bars != nullptr && bars->lines_per_group > 0.0;
  const double lines =
      has_lines ? static_cast<double>(bars->groups.size()) * bars->lines_per_group * kLineMm : 0.0;
  const double height = has_lines ? lines : inner * figure.panel_aspect;
  const double most =
      sheet.max_height_mm
          ? std::max(kSmallestMm, (*sheet.max_height_mm - kAroundMm) / rows - kBelowMm)
          : height;
  std::string tex = fmt::format(
      "\\newdimen\\limewidth \\limewidth={:.1f}mm\n\\newdimen\\limeheight \\limeheight={:.1f}mm\n"
      "\\newcommand\\limefit{{%\n\\sbox0{{\\limefigure}}%\n"
      "\\advance\\limewidth by \\dimexpr({}mm-\\wd0)/{}\\relax\n"
      "\\ifdim\\limewidth<{}mm \\limewidth={}mm \\fi\n",
      inner, std::min(height, most), sheet.width_mm, columns, kSmallestMm, kSmallestMm);
  if (sheet.height_mm) {
    tex += fmt::format(
        "\\sbox0{{\\limefigure}}%\n\\advance\\limeheight by "
        "\\dimexpr({}mm-\\ht0-\\dp0)/{}\\relax\n",
        *sheet.height_mm, rows);
  } else if (!has_lines) {
    tex += fmt::format("\\limeheight={:.4f}\\limewidth\n", figure.panel_aspect);
    if (sheet.max_height_mm) {
      tex += fmt::format("\\ifdim\\limeheight>{0:.1f}mm \\limeheight={0:.1f}mm \\fi\n", most);
    }
  }
  return tex + "}\n";
}

/// Returns how many legend entries fit side by side in `width` mm.
int legend_columns(const Figure& figure, double width) {
  constexpr double kSampleMm = 10.0;
  constexpr int kMaxInLine = 8;
  double longest = 0.0;
  for (const LegendEntry& entry : legend_of(figure)) {
    longest = std::max(longest, static_cast<double>(entry.label.size()));
  }
  return std::clamp(static_cast<int>(width / (kSampleMm + kLetterMm * longest)), 1, kMaxInLine);
}

/// Returns the gap between panels, for their tick labels and axis labels if any.
double gap_mm(const Figure& figure) {
  const FigurePanel& first = figure.panels.front();
  if (const auto* const bars = std::get_if<BarPanel>(&first.content)) {
    std::size_t longest = 0;
    for (const std::string& group : bars->groups) longest = std::max(longest, group.size());
    return kBesideMm + kLetterMm * static_cast<double>(longest);
  }
  return figure.shares_y || first.y.hides_numbers ? 5.0 : 18.0;
}

void add_surroundings(std::string& tex, const Figure& figure, const FigureStyle& style,
                      double width) {
  tex +=
      "\\coordinate (top) at (current bounding box.north);\n"
      "\\coordinate (bottom) at (current bounding box.south);\n";
  if (legend_of(figure).size() > 1) {
    tex +=
        "\\node[above=1mm] (legend) at (top) {\\pgfplotslegendfromname{lime}};\n"
        "\\coordinate (top) at (legend.north);\n";
  }
  const std::string& title = style.title.empty() ? figure.title : style.title;
  if (!title.empty()) {
    tex += fmt::format("\\node[above=1mm, font=\\small\\bfseries] at (top) {{{}}};\n",
                       latex_text(title));
  }
  if (!figure.note.empty()) {
    tex += fmt::format(
        "\\node[below=1mm, inner xsep=0pt, font=\\tiny, text width={}mm, align=center] at (bottom) "
        "{{{}}};\n",
        width, latex_text(figure.note));
  }
}

}  // namespace

namespace {

/// Returns the figure with logarithms in place of the values of heatmaps, if its colours are
/// logarithmic: pgfplots has linear colour bars only.
Figure with_logarithms(Figure figure) {
  if (!figure.logarithmic_colours) return figure;
  const auto [low, high] = colour_range_of(figure);
  for (FigurePanel& panel : figure.panels) {
    if (auto* const map = std::get_if<HeatmapPanel>(&panel.content)) {
      map->values = map->values.unaryExpr([low = low](double value) {
        return std::isfinite(value) ? std::log10(std::max(value, low)) : value;
      });
    }
  }
  figure.colour_range = std::pair(std::log10(low), std::log10(high));
  figure.colour_label += ", log10";
  return figure;
}

}  // namespace

std::string figure_to_pgfplots(const Figure& given, const FigureStyle& style) {
  const Figure figure = with_logarithms(given);
  if (std::holds_alternative<TablePanel>(figure.panels.front().content)) {
    return tables_to_latex(figure);
  }
  std::string tex =
      "% made by lime-figure\n\\documentclass{standalone}\n\\usepackage{pgfplots}\n"
      "\\pgfplotsset{compat=1.16}\n\\usepgfplotslibrary{groupplots}\n";
  add_colours(tex, figure, style);
  const int columns = std::clamp(figure.columns, 1, static_cast<int>(figure.panels.size()));
  const int rows = (static_cast<int>(figure.panels.size()) + columns - 1) / columns;
  const FigureSize sheet = figure_size(style, figure.is_wide);
  const double width = sheet.width_mm;
  const double gap = gap_mm(figure);
  const double inner = std::max(kSmallestMm, width / columns - gap);
  tex += fitting_commands(figure, sheet, columns, rows, inner);
  tex += fmt::format(
      "\\newcommand\\limefigure{{%\n"
      "\\begin{{tikzpicture}}\n\\begin{{groupplot}}[group style={{group size={} by {}, horizontal "
      "sep={}mm, vertical sep={}mm{}}}, scale only axis, width=\\limewidth, height=\\limeheight, "
      "unbounded coords=jump, legend style={{draw=none, font=\\tiny, legend columns={}, "
      "/tikz/every "
      "even column/.append style={{column sep=2mm}}}}, tick label style={{font=\\scriptsize}}, "
      "label style={{font=\\small}}, ylabel style={{text width=1.15\\limeheight, align=center}}, "
      "title style={{font=\\small, text width=\\limewidth, "
      "align=center}}{}]\n",
      columns, rows, gap, kBelowMm + (has_long_title(figure, inner) ? kTitleMm : 0.0),
      figure.shares_y ? ", yticklabels at=edge left" : "", legend_columns(figure, width),
      figure.shares_y ? shared_y_options(figure) : "");
  const std::string entries = legend_entries(figure);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    FigurePanel panel = figure.panels[i];
    if (figure.shares_y && static_cast<int>(i) % columns != 0) panel.y.label.clear();
    panel.x = fitting_axis(panel.x, inner);
    panel.y = fitting_axis(panel.y, inner * figure.panel_aspect);
    const bool has_bar = static_cast<int>(i) + 1 == columns;  // at the end of the first row
    const bool has_legend = i == 0 && !entries.empty();
    tex += fmt::format("\\nextgroupplot[{}{}]\n", axis_options(panel, figure, has_bar),
                       has_legend ? ", legend to name=lime" : "");
    if (has_legend) tex += entries;
    tex += pgfplots_plots(panel);
  }
  tex += "\\end{groupplot}\n";
  add_surroundings(tex, figure, style, width);
  return tex + fmt::format(
                   "\\end{{tikzpicture}}}}\n\\begin{{document}}%\n\\limefit\\limefit"
                   "\\scalebox{{{}}}{{\\limefigure}}\n\\end{{document}}\n",
                   style.magnification());
}

}  // namespace lime

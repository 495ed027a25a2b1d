// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viz/figure_file.h"

namespace lime {
namespace {

/// Text that LaTeX prints as it stands.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\textbackslash{}";
    } else if (letter == '^' || letter == '~') {
      result += fmt::format("\\{}{{}}", letter);
    } else {
      if (std::string_view("&%$#_{}").find(letter) != std::string_view::npos) result += '\\';
      result += letter;
    }
  }
  return result;
}

std::string pattern_of(LinePattern pattern) {
  switch (pattern) {
    case LinePattern::kSolid:
      return "solid";
    case LinePattern::kDashed:
      return "dashed";
    case LinePattern::kDotted:
      return "dotted";
    case LinePattern::kDashDotted:
      return "dashdotted";
    case LinePattern::kNone:
      break;
  }
  return "only marks";
}

std::string marker_of(MarkerShape shape) {
  switch (shape) {
    case MarkerShape::kNone:
      return "none";
    case MarkerShape::kDisc:
      return "*";
    case MarkerShape::kSquare:
      return "square*";
    case MarkerShape::kTriangle:
      return "triangle*";
    case MarkerShape::kDiamond:
      break;
  }
  return "diamond*";
}

std::string colour_name(std::size_t index) {
  return index == kMutedColour ? "gray" : fmt::format("class{}", index);
}

void add_points(std::string& tex, const std::vector<double>& x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(y[i])) tex += fmt::format("({},{}) ", x[i], y[i]);
  }
}

/// Writes the plots of one panel.
struct PgfPlots {
  std::string& tex;

  void operator()(const CurvePanel& panel) const {
    for (const Curve& curve : panel.curves) {
      const std::string colour = colour_name(curve.look.colour);
      if (curve.spread == Curve::Spread::kBand) add_band(curve, colour);
      tex += fmt::format("\\addplot[{}, {}, mark={}, mark size=1pt{}", colour,
                         pattern_of(curve.look.pattern), marker_of(curve.look.marker),
                         curve.look.is_faint ? ", thin, opacity=0.55" : "");
      if (curve.spread == Curve::Spread::kBars) {
        tex += ", error bars/.cd, y dir=both, y explicit";
      }
      tex += "] coordinates {";
      for (std::size_t i = 0; i < curve.x.size(); ++i) {
        if (!std::isfinite(curve.y[i])) continue;
        tex += fmt::format("({},{})", curve.x[i], curve.y[i]);
        if (curve.spread == Curve::Spread::kBars) {
          tex += fmt::format(" += (0,{}) -= (0,{})", curve.high[i] - curve.y[i],
                             curve.y[i] - curve.low[i]);
        }
        tex += ' ';
      }
      tex += "};\n";
      const std::string legend = curve.legend.value_or(curve.label);
      if (!legend.empty()) tex += fmt::format("\\addlegendentry{{{}}}\n", escaped(legend));
      add_stars(curve);
    }
    for (const ReferenceLine& line : panel.references) {
      tex += fmt::format(
          "\\draw[gray, dashed] ({{rel axis cs:0,0}}|-{{axis cs:0,{0}}}) -- "
          "({{rel axis cs:1,0}}|-{{axis cs:0,{0}}}) node[above left, font=\\tiny] {{{1}}};\n",
          line.y, escaped(line.label));
    }
  }

  void add_stars(const Curve& curve) const {
    for (std::size_t i = 0; i < curve.stars.size(); ++i) {
      if (curve.stars[i].empty()) continue;
      tex += fmt::format("\\node[above, font=\\tiny] at (axis cs:{},{}) {{{}}};\n", curve.x[i],
                         curve.high.empty() ? curve.y[i] : curve.high[i], curve.stars[i]);
    }
  }

  void add_band(const Curve& curve, const std::string& colour) const {
    tex += fmt::format(
        "\\addplot[draw=none, fill={}, fill opacity=0.18, forget plot] coordinates {{", colour);
    add_points(tex, curve.x, curve.low);
    add_points(tex, {curve.x.rbegin(), curve.x.rend()}, {curve.high.rbegin(), curve.high.rend()});
    tex += "} \\closedcycle;\n";
  }

  void operator()(const MapPanel& panel) const {
    tex +=
        fmt::format("\\addplot[matrix plot*, point meta=explicit, mesh/cols={}] coordinates {{\n",
                    panel.values.cols());
    for (Eigen::Index r = 0; r < panel.values.rows(); ++r) {
      for (Eigen::Index c = 0; c < panel.values.cols(); ++c) {
        const double value = panel.values(r, c);
        tex += fmt::format("({},{}) [{}] ", c, r,
                           std::isfinite(value) ? fmt::format("{}", value) : "nan");
      }
      tex += '\n';
    }
    tex += "};\n";
  }

  void operator()(const CloudPanel& panel) const {
    for (std::size_t k = 0; k < std::max<std::size_t>(1, panel.class_names.size()); ++k) {
      tex +=
          fmt::format("\\addplot[only marks, mark size=0.5pt, {}] coordinates {{", colour_name(k));
      for (std::size_t i = 0; i < panel.x.size(); ++i) {
        if (panel.classes[i] == static_cast<int>(k)) {
          tex += fmt::format("({},{}) ", panel.x[i], panel.y[i]);
        }
      }
      tex += "};\n";
      if (k < panel.class_names.size()) {
        tex += fmt::format("\\addlegendentry{{{}}}\n", escaped(panel.class_names[k]));
      }
    }
  }

  void operator()(const BarPanel& panel) const {
    for (const BarPanel::Series& series : panel.series) {
      tex += fmt::format("\\addplot[xbar, fill={}, draw=none", colour_name(series.look.colour));
      if (!series.low.empty()) tex += ", error bars/.cd, x dir=both, x explicit";
      tex += "] coordinates {";
      for (std::size_t g = 0; g < series.values.size(); ++g) {
        if (!std::isfinite(series.values[g])) continue;
        tex += fmt::format("({},{})", series.values[g], g);
        if (!series.low.empty()) {
          tex += fmt::format(" += ({},0) -= ({},0)", series.high[g] - series.values[g],
                             series.values[g] - series.low[g]);
        }
        tex += ' ';
      }
      tex += fmt::format("}};\n\\addlegendentry{{{}}}\n", escaped(series.label));
    }
    if (panel.reference) {
      tex += fmt::format(
          "\\draw[gray, dashed] ({{axis cs:{0},0}}|-{{rel axis cs:0,0}}) -- "
          "({{axis cs:{0},0}}|-{{rel axis cs:0,1}});\n",
          panel.reference->y);
    }
  }

  void operator()(const TablePanel&) const {}
};

/// Ticks with labels of their own, or none at all.
void add_ticks(std::string& options, const char* name, const FigureAxis& axis) {
  if (axis.hides_numbers) options += fmt::format(", {}tick=\\empty", name);
  if (axis.ticks.empty()) return;
  std::string places;
  std::string labels;
  for (const AxisTick& tick : axis.ticks) {
    places += fmt::format("{}{}", places.empty() ? "" : ",", tick.at);
    labels += fmt::format("{{{}}},", escaped(tick.label));
  }
  options += fmt::format(", {0}tick={{{1}}}, {0}ticklabels={{{2}}}", name, places, labels);
}

/// A document with one tabular per table of the figure.
std::string tables_to_latex(const Figure& figure) {
  std::string tex =
      "% made by lime-figure\n\\documentclass{standalone}\n\\usepackage{booktabs}\n"
      "\\begin{document}\n";
  for (const FigurePanel& panel : figure.panels) {
    const auto* const table = std::get_if<TablePanel>(&panel.content);
    if (table == nullptr) continue;
    const auto add_line = [&](const std::vector<std::string>& cells) {
      for (std::size_t c = 0; c < cells.size(); ++c) {
        tex += fmt::format("{}{}", c == 0 ? "" : " & ", escaped(cells[c]));
      }
      tex += " \\\\\n";
    };
    tex += fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n",
                       std::string(table->head.size() - 1, 'r'));
    add_line(table->head);
    tex += "\\midrule\n";
    for (std::size_t r = 0; r < table->rows.size(); ++r) {
      const auto& rules = table->rules;
      if (std::find(rules.begin(), rules.end(), static_cast<int>(r)) != rules.end()) {
        tex += "\\midrule\n";
      }
      add_line(table->rows[r]);
    }
    tex += "\\bottomrule\n\\end{tabular}\n";
  }
  return tex + "\\end{document}\n";
}

std::string axis_options(const FigurePanel& panel, const Figure& figure) {
  std::string options =
      fmt::format("title={{{}}}, xlabel={{{}}}, ylabel={{{}}}", escaped(panel.title),
                  escaped(panel.x.label), escaped(panel.y.label));
  if (panel.x.logarithmic) options += ", xmode=log";
  if (panel.y.logarithmic) options += ", ymode=log";
  const auto limit = [&](const char* name, const std::optional<double>& value) {
    if (value) options += fmt::format(", {}={}", name, *value);
  };
  limit("xmin", panel.x.min);
  limit("xmax", panel.x.max);
  limit("ymin", panel.y.min);
  limit("ymax", panel.y.max);
  if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    options += ", xbar, bar width=3pt, y dir=reverse, ytick=data, yticklabels={";
    for (const std::string& group : bars->groups) options += fmt::format("{{{}}},", escaped(group));
    options += "}";
  } else {
    add_ticks(options, "x", panel.x);
    add_ticks(options, "y", panel.y);
  }
  if (std::holds_alternative<MapPanel>(panel.content)) {
    const auto [low, high] = colour_range_of(figure);
    options += fmt::format(", colorbar, colormap name=lime, point meta min={}, point meta max={}",
                           low, high);
  }
  return options;
}

}  // namespace

std::string figure_to_pgfplots(const Figure& figure, const FigureStyle& style) {
  if (std::holds_alternative<TablePanel>(figure.panels.front().content)) {
    return tables_to_latex(figure);
  }
  std::string tex =
      "% made by lime-figure\n\\documentclass{standalone}\n\\usepackage{pgfplots}\n"
      "\\pgfplotsset{compat=1.16}\n\\usepgfplotslibrary{groupplots}\n\\begin{document}\n";
  const std::size_t num_classes = num_colours_of(figure);
  for (std::size_t i = 0; i < num_classes; ++i) {
    const Colour c = class_colour(style.palette, i, num_classes);
    tex += fmt::format("\\definecolor{{{}}}{{RGB}}{{{},{},{}}}\n", colour_name(i), c.red, c.green,
                       c.blue);
  }
  const auto [low, high] = colour_range_of(figure);
  const MapPalette palette =
      style.map_palette.value_or(low < 0.0 ? MapPalette::kBlueRed : MapPalette::kViridis);
  tex += "\\pgfplotsset{colormap={lime}{";
  for (int i = 0; i <= 16; ++i) {
    const Colour c = map_colour(palette, i / 16.0);
    tex += fmt::format("rgb255=({},{},{}) ", c.red, c.green, c.blue);
  }
  const int columns = std::max(1, figure.columns);
  const double width = figure_size(style, figure.is_wide).width_mm / columns;
  tex += fmt::format(
      "}}}}\n\\begin{{tikzpicture}}\n\\begin{{groupplot}}[group style={{group size={} by {}, "
      "horizontal sep=12mm, vertical sep=14mm}}, width={}mm, height={}mm, legend "
      "style={{draw=none, "
      "font=\\tiny}}, tick label style={{font=\\scriptsize}}, label style={{font=\\small}}]\n",
      columns,
      (figure.panels.size() + static_cast<std::size_t>(columns) - 1) /
          static_cast<std::size_t>(columns),
      width, width * figure.panel_aspect + 12.0);
  for (const FigurePanel& panel : figure.panels) {
    tex += fmt::format("\\nextgroupplot[{}]\n", axis_options(panel, figure));
    std::visit(PgfPlots{tex}, panel.content);
  }
  return tex + "\\end{groupplot}\n\\end{tikzpicture}\n\\end{document}\n";
}

}  // namespace lime

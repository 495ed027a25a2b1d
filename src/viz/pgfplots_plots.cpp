// SPDX-License-Identifier: Apache-2.0
#include "viz/pgfplots_plots.h"

#include "core/program/terminal.h"
#include "viz/class_colours.h"

namespace lime {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kLatex = {{
    {"\\", "\\textbackslash{}"},
    {"^", "\\^{}"},
    {"~", "\\~{}"},
    {"|", "\\textbar{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"&", "\\&"},
    {"%", "\\%"},
    {"$", "\\$"},
    {"#", "\\#"},
    {"_", "\\_"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"\xCE\xB1", "$\\alpha$"},
    {"\xCE\x94", "$\\Delta$"},
    {"\xE2\x88\x92", "$-$"},
    {"\xC3\x97", "$\\times$"},
    {"\xC2\xB1", "$\\pm$"},
    {"\xE2\x88\x9E", "$\\infty$"},
}};

const char* latex_pattern(LinePattern pattern) {
  switch (pattern) {
    case LinePattern::kSolid: break;
    case LinePattern::kDashed: return "dashed";
    case LinePattern::kDotted: return "dotted";
    case LinePattern::kDashDotted: return "dashdotted";
    case LinePattern::kNone: return "only marks";
  }
  return "solid";
}

const char* latex_marker(MarkerShape marker) {
  switch (marker) {
    case MarkerShape::kNone: break;
    case MarkerShape::kDisc: return "*";
    case MarkerShape::kSquare: return "square*";
    case MarkerShape::kTriangle: return "triangle*";
    case MarkerShape::kDiamond: return "diamond*";
  }
  return "none";
}

std::string coordinate(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "nan";
}

/// Returns a reference line from one edge of the axis to the other.
std::string reference_line(const ReferenceLine& line, bool is_upright) {
  const char* const places = is_upright ? "({{axis cs:{0},0}}|-{{rel axis cs:0,0}}) -- "
                                          "({{axis cs:{0},0}}|-{{rel axis cs:0,1}})"
                                        : "({{rel axis cs:0,0}}|-{{axis cs:0,{0}}}) -- "
                                          "({{rel axis cs:1,0}}|-{{axis cs:0,{0}}})";
  const std::string label =
      line.label.empty() || line.in_legend
          ? ""
          : fmt::format(" node[above left, font=\\tiny] {{{}}}", latex_text(line.label));
  return fmt::format("\\draw[gray{}] {}{};\n", line.is_zero ? "" : ", dashed",
                     fmt::format(fmt::runtime(places), line.y), label);
}

/// Returns a range across the axis, or a line. @param y  any value on the axis
std::string range_mark(const RangeMark& range, double y) {
  const std::string ends = fmt::format(
      "({{axis cs:{0},{2}}}|-{{rel axis cs:0,0}}) {3} ({{axis cs:{1},{2}}}|-{{rel axis cs:0,1}})",
      range.low, range.high, y, range.is_line() ? "--" : "rectangle");
  const std::string label = fmt::format(
      "\\node[gray, font=\\tiny, rotate=90, anchor={}] at ({{axis cs:{},{}}}|-{{rel axis "
      "cs:0,{}}}) {{{}}};\n",
      range.is_line() ? "south west" : "west", 0.5 * (range.low + range.high), y,
      range.is_line() ? 0.15 : 0.0, latex_text(range.whole_label()));
  return fmt::format("\\{} {};\n{}",
                     range.is_line() ? "draw[gray, dashed]" : "fill[gray, fill opacity=0.12]", ends,
                     label);
}

/// Returns a value on the y axis: one above 0, which logarithmic axes need, else any finite one.
std::optional<double> some_value(const std::vector<Curve>& curves) {
  std::optional<double> any;
  for (const Curve& curve : curves) {
    for (const double y : curve.y) {
      if (std::isfinite(y) && y > 0.0) return y;
      if (std::isfinite(y)) any = y;
    }
  }
  return any;
}

struct PgfPlots {
  std::string& tex;

  void operator()(const CurvePanel& panel) const {
    if (const std::optional<double> y = some_value(panel.curves)) {
      for (const RangeMark& range : panel.ranges) tex += range_mark(range, *y);
    }
    for (const ReferenceLine& line : panel.references) {
      // Custom drawing commands do not extend the axis range; an invisible point does.
      if (!panel.curves.empty() && !panel.curves.front().x.empty()) {
        tex += fmt::format("\\addplot[draw=none, mark=none] coordinates {{({},{})}};\n",
                           panel.curves.front().x.front(), line.y);
      }
      tex += reference_line(line, false);
    }
    for (const Curve& curve : panel.curves) {
      if (curve.spread == Curve::Spread::kBand) add_band(curve);
      add_curve(curve);
      add_lone_points(curve);
      add_stars(curve);
    }
  }

  void add_curve(const Curve& curve) const {
    const bool has_bars = curve.spread == Curve::Spread::kBars;
    tex += fmt::format("\\addplot[{}{}] coordinates {{", pgfplots_style(curve.style),
                       has_bars ? ", error bars/.cd, y dir=both, y explicit" : "");
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      tex += fmt::format("({},{})", curve.x[i], coordinate(curve.y[i]));
      if (has_bars && std::isfinite(curve.y[i])) {
        tex += fmt::format(" += (0,{}) -= (0,{})", curve.high[i] - curve.y[i],
                           curve.y[i] - curve.low[i]);
      }
      tex += ' ';
    }
    tex += "};\n";
  }

  void add_lone_points(const Curve& curve) const {
    Curve points;
    for (const std::size_t i : lone_points(curve)) {
      points.x.push_back(curve.x[i]);
      points.y.push_back(curve.y[i]);
      points.low.push_back(curve.low[i]);
      points.high.push_back(curve.high[i]);
    }
    if (points.x.empty()) return;
    points.spread = Curve::Spread::kBars;
    points.style = curve.style;
    points.style.pattern = LinePattern::kNone;
    add_curve(points);
  }

  void add_stars(const Curve& curve) const {
    for (std::size_t i = 0; i < curve.stars.size(); ++i) {
      if (curve.stars[i].empty() || !std::isfinite(curve.y[i])) continue;
      tex += fmt::format("\\node[above, font=\\tiny] at (axis cs:{},{}) {{{}}};\n", curve.x[i],
                         curve.high.empty() ? curve.y[i] : curve.high[i], curve.stars[i]);
    }
  }

  /// Adds one area per contiguous part.
  void add_band(const Curve& curve) const {
    std::size_t from = 0;
    while (from < curve.x.size()) {
      std::size_t to = from;
      std::string forth;
      std::string back;
      for (; to < curve.x.size() && std::isfinite(curve.low[to]); ++to) {
        forth += fmt::format("({},{}) ", curve.x[to], curve.low[to]);
        back.insert(0, fmt::format("({},{}) ", curve.x[to], curve.high[to]));
      }
      if (to > from) {
        tex += fmt::format(
            "\\addplot[draw=none, mark=none, fill={}, fill opacity=0.18] coordinates {{{}{}}} -- "
            "cycle;\n",
            pgfplots_colour(curve.style.colour), forth, back);
      }
      from = to + 1;
    }
  }

  void operator()(const HeatmapPanel& panel) const {
    tex +=
        fmt::format("\\addplot[matrix plot*, point meta=explicit, mesh/cols={}] coordinates {{\n",
                    panel.values.cols());
    for (Eigen::Index r = 0; r < panel.values.rows(); ++r) {
      for (Eigen::Index c = 0; c < panel.values.cols(); ++c) {
        tex += fmt::format("({},{}) [{}] ", c, r, coordinate(panel.values(r, c)));
      }
      tex += '\n';
    }
    tex += "};\n";
    for (const int col : panel.col_borders) {
      tex += fmt::format(
          "\\draw[white] ({{axis cs:{0},0}}|-{{rel axis cs:0,0}}) -- "
          "({{axis cs:{0},0}}|-{{rel axis cs:0,1}});\n",
          col - 0.5);
    }
    for (const int row : panel.row_borders) {
      tex += fmt::format(
          "\\draw[white] ({{rel axis cs:0,0}}|-{{axis cs:0,{0}}}) -- "
          "({{rel axis cs:1,0}}|-{{axis cs:0,{0}}});\n",
          row - 0.5);
    }
  }

  void operator()(const ScatterPanel& panel) const {
    std::vector<std::size_t> colours = class_colours(panel.class_names);
    if (colours.empty()) colours.push_back(group_colour(0));
    for (std::size_t k = 0; k < colours.size(); ++k) {
      tex += fmt::format("\\addplot[only marks, mark size=0.5pt, {}] coordinates {{",
                         pgfplots_colour(colours[k]));
      for (std::size_t i = 0; i < panel.x.size(); ++i) {
        if (panel.classes[i] == static_cast<int>(k)) {
          tex += fmt::format("({},{}) ", panel.x[i], panel.y[i]);
        }
      }
      tex += "};\n";
    }
  }

  void operator()(const BarPanel& panel) const {
    if (panel.reference) tex += reference_line(*panel.reference, true);
    for (const BarPanel::Series& series : panel.series) {
      tex +=
          fmt::format("\\addplot[xbar, fill={}, draw=none", pgfplots_colour(series.style.colour));
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
      tex += "};\n";
      for (std::size_t g = 0; g < series.stars.size(); ++g) {
        if (series.stars[g].empty()) continue;
        tex += fmt::format("\\node[right, font=\\tiny] at (axis cs:{},{}) {{{}}};\n",
                           series.high.empty() ? series.values[g] : series.high[g], g,
                           series.stars[g]);
      }
    }
  }

  void operator()(const TablePanel&) const {}
};

}  // namespace

std::string latex_text(const std::string& raw) {
  const std::string text = escaped_lines(raw);
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    const auto* const known = std::ranges::find_if(
        kLatex, [&](const auto& entry) { return rest.starts_with(entry.first); });
    if (known == kLatex.end()) {
      result += text[i++];
    } else {
      result += known->second;
      i += known->first.size();
    }
  }
  return result;
}

std::string pgfplots_colour(std::size_t index) {
  if (index == kNegativeColour) return "green!45!black";
  if (index == kPositiveColour) return "violet";
  if (index == kMutedColour) return "gray";
  if (is_group_colour(index)) return fmt::format("group{}", group_colour(0) - index);
  if (is_step_colour(index)) return fmt::format("step{}", index - kFirstStepColour);
  return fmt::format("class{}", index);
}

std::string pgfplots_style(const SeriesStyle& style) {
  return fmt::format("{}, {}, mark={}, mark size=1.3pt, mark options={{solid}}, {}",
                     pgfplots_colour(style.colour), latex_pattern(style.pattern),
                     latex_marker(style.marker),
                     style.is_faint ? "thin, opacity=0.55" : "semithick");
}

std::string pgfplots_plots(const FigurePanel& panel) {
  std::string tex;
  std::visit(PgfPlots{tex}, panel.content);
  return tex;
}

}  // namespace lime

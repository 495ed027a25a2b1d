// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "viz/figure.h"
#include "viz/plots/heatmap_plottable.h"
#include "viz/plots/panel_axes.h"
#include "viz/plots/plot_theme.h"

namespace lime {

class LegendElement;

/// Lays out a figure in a plot: title, legend, panels on a grid, colour bar, note.
///
/// Panels are aligned in rows and columns; all axis areas have the same width.
class FigureLayout {
 public:
  /// The arguments must outlive this object. @param width  of the figure, units.
  /// @param height  likewise; unset if fitting_height() determines it.
  FigureLayout(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme, int width,
               std::optional<int> height = {});

  /// Returns the height at which the panels have the aspect requested by the figure, units.
  int fitting_height();
  /// Gives all panels axis areas of equal height at this total height.
  void settle(int height);
  /// Returns true if the panels are high enough to read; for bars, if no names overlap.
  bool is_readable() const;
  /// Returns the axis area of a panel; null for tables, which have none.
  QCPAxisRect* axes_of(std::size_t panel) const;
  /// Returns the legend; null where one entry or none would be in it.
  const LegendElement* legend() const { return legend_; }

 private:
  void add_row(QCPLayoutElement* element);
  void add_panels();
  void place_on_grid(QCPLayoutElement* element, std::size_t index);
  QCPLayoutElement* panel_element(std::size_t index);
  void add_title(QCPAxisRect* rect, std::size_t index);
  /// Leaves room for `lines` lines above a panel.
  void set_title_lines(QCPAxisRect* rect, int lines);
  void wrap_titles();
  void add_colour_bar(QCPMarginGroup* top, QCPMarginGroup* bottom);
  void share_y();
  double preferred_height(std::size_t panel) const;
  void wrap_labels();
  void select_tick_forms(bool may_improve);
  void space_ticks();
  bool has_long_colour_bar() const;
  HeatmapScale heatmap_scale() const;
  int num_columns() const;
  int num_rows() const;
  void update(int height);

  struct PanelTitle {
    std::size_t panel = 0;
    QCPItemText* item = nullptr;
    double indent = 0.0;  ///< width of the letter in front
  };

  QCustomPlot& plot_;
  const Figure& figure_;
  const PlotTheme& theme_;
  int width_;
  std::optional<int> height_;
  std::size_t num_colours_;
  QCPLayoutGrid* sheet_ = nullptr;  ///< grid and the colour bar that spans its rows, if any
  QCPLayoutGrid* grid_ = nullptr;
  std::vector<QCPLayoutElement*> elements_;  ///< of the panels
  std::vector<QCPAxisRect*> rects_;          ///< of those panels that have axes
  std::vector<PanelTitle> titles_;
  QCPAxis* colour_bar_ = nullptr;  ///< the labelled axis of the colour bar, if any
  LegendElement* legend_ = nullptr;
  TickForm form_below_ = TickForm::kLevel;  ///< of the tick labels below all panels
  TickForm form_beside_ = TickForm::kLevel;
};

}  // namespace lime

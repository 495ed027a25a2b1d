// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <cstddef>
#include <string>
#include <vector>

#include "viz/figure.h"
#include "viz/map_plottable.h"
#include "viz/plot_theme.h"
#include "viz/tick_room.h"

namespace lime {

/// Fills a plot with a figure: title, legend, panels on a grid, colour bar, note.
///
/// Panels of a row stand on one line, those of a column begin at one place, and all axis areas are
/// equally wide, whatever their labels need.
class FigureLayout {
 public:
  /// What it is given must outlive it. @param width  of the figure, units.
  FigureLayout(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme, int width);

  /// Height at which the panels have the aspect that the figure asks for, units.
  int fitting_height();
  /// Gives all panels equal axis areas at this height.
  void settle(int height);
  /// Whether the settled panels are high enough to be read: of bars, so that no names meet.
  bool is_readable() const;
  /// The axis area of a panel; null for tables, which have none.
  QCPAxisRect* axes_of(std::size_t panel) const;

 private:
  void build();
  void add_row(QCPLayoutElement* element);
  void add_panels();
  void place_on_grid(QCPLayoutElement* element, std::size_t index);
  QCPLayoutElement* panel_element(std::size_t index);
  QCPAxisRect* filled_axes(std::size_t index);
  void add_title(QCPAxisRect* rect, std::size_t index);
  void add_colour_bar();
  void share_y();
  void settle_rows();
  double wanted_height(std::size_t panel) const;
  void wrap_labels();
  void choose_tick_forms(bool may_improve);
  void space_ticks();
  std::string panel_letter(std::size_t index) const;
  bool has_map() const;
  bool has_long_colour_bar() const;
  MapScale map_scale() const;
  int num_columns() const;
  int num_rows() const;
  void update(int height);

  QCustomPlot& plot_;
  const Figure& figure_;
  const PlotTheme& theme_;
  int width_;
  std::size_t num_colours_;
  QCPLayoutGrid* sheet_ = nullptr;  ///< of the grid and a colour bar beside all of its rows, if any
  QCPLayoutGrid* grid_ = nullptr;
  std::vector<QCPLayoutElement*> elements_;  ///< of the panels
  std::vector<QCPAxisRect*> rects_;          ///< of those panels that have axes
  TickForm form_below_ = TickForm::kLevel;   ///< of the texts at all panels
  TickForm form_beside_ = TickForm::kLevel;
};

/// An axis area without its upper and right axes, in the layers that figures use.
QCPAxisRect* new_axis_rect(QCustomPlot* plot);

/// A bar that says which colour stands for which number, with `label` beside it.
QCPAxisRect* new_colour_bar(QCustomPlot* plot, const MapScale& scale, const std::string& label,
                            const PlotTheme& theme);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <QFont>
#include <QMargins>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <cstddef>
#include <string>
#include <vector>

#include "viz/figure.h"
#include "viz/figure_legend.h"
#include "viz/plots/panel_axes.h"
#include "viz/plots/plot_theme.h"

namespace lime {

/// Adds a text at `position` in a panel, or across its border; the caller places it.
QCPItemText* add_text(QCustomPlot* plot, const std::string& text, const QFont& font,
                      const QColor& colour, Qt::Alignment alignment, const QMargins& padding);

void add_content(const PanelPlace& place, const CurvePanel& panel);
void add_content(const PanelPlace& place, const HeatmapPanel& panel);
void add_content(const PanelPlace& place, const ScatterPanel& panel);
void add_content(const PanelPlace& place, const BarPanel& panel);
inline void add_content(const PanelPlace&, const TablePanel&) {}  // has no axes

/// One legend for all panels: centred lines of entries.
class LegendElement : public QCPLayoutElement {
 public:
  /// @param theme  must outlive the element. @param width  of the figure, units.
  LegendElement(QCustomPlot* plot, const std::vector<LegendEntry>& entries, std::size_t num_colours,
                const PlotTheme& theme, int width);

  /// Returns the label of the entry at `place` of the plot; null beside all entries.
  const std::string* label_at(const QPointF& place) const;

 protected:
  void draw(QCPPainter* painter) override;
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;

 private:
  struct Placed {
    LegendEntry entry;
    QString text;  ///< shortened where the figure is narrow
    QRectF area;   ///< relative to origin()
  };
  QPointF origin() const;  ///< the middle of the upper edge

  std::vector<Placed> placed_;
  std::size_t num_colours_;
  const PlotTheme& theme_;
};

/// Returns a table in booktabs style: three rules; only the first column is left-aligned.
QCPLayoutElement* new_table(QCustomPlot* plot, const TablePanel& table, const PlotTheme& theme);

/// Returns centred text wrapped to `width` units: a title, a note.
QCPLayoutElement* new_note(QCustomPlot* plot, const std::string& text, const QFont& font,
                           const QColor& colour, int width);

}  // namespace lime

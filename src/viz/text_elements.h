// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <vector>

#include "viz/figure.h"
#include "viz/plot_theme.h"

namespace lime {

/// One legend for all panels: entries in lines as wide as the figure, centred.
class LegendElement : public QCPLayoutElement {
 public:
  /// @param num_colours  of the figure. @param width  units.
  LegendElement(QCustomPlot* plot, std::vector<LegendEntry> entries, std::size_t num_colours,
                const PlotTheme& theme, int width);

  /// Height that all lines need, units.
  int needed_height() const;

 protected:
  void draw(QCPPainter* painter) override;
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override {
    painter->setAntialiasing(true);
  }

 private:
  double entry_width(const LegendEntry& entry) const;
  double line_width(const std::vector<std::size_t>& line) const;
  void draw_sample(QCPPainter* painter, const LegendEntry& entry, const QRectF& area) const;

  std::vector<LegendEntry> entries_;
  std::size_t num_colours_;
  PlotTheme theme_;
  std::vector<std::vector<std::size_t>> lines_;  ///< entry numbers
};

/// A table in the manner of booktabs: rules above, below the head, and below; first column left,
/// the others right.
class TableElement : public QCPLayoutElement {
 public:
  TableElement(QCustomPlot* plot, TablePanel table, const PlotTheme& theme);

  int needed_height() const;

 protected:
  void draw(QCPPainter* painter) override;
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override {
    painter->setAntialiasing(true);
  }

 private:
  std::vector<double> column_widths() const;

  TablePanel table_;
  PlotTheme theme_;
};

/// Centred text in as many lines as it needs: a title, a note.
class NoteElement : public QCPLayoutElement {
 public:
  /// @param width  units.
  NoteElement(QCustomPlot* plot, const std::string& text, const QFont& font, const QColor& colour,
              int width);

  int needed_height() const { return height_; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  QString text_;
  QFont font_;
  QColor colour_;
  int height_;
};

/// The marker of a series at `centre`, `size` units across.
void draw_marker(QPainter& painter, MarkerShape shape, const QPointF& centre, double size);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_painter.h"

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "core/errors.h"
#include "viz/panel_builder.h"
#include "viz/text_elements.h"

namespace lime {
namespace {

constexpr int kColourSteps = 128;  // of a colour bar

/// Makes the plot's elements row by row; what is below needs to know how high it is.
class FigureLayout {
 public:
  FigureLayout(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme, int width)
      : plot_(plot),
        figure_(figure),
        theme_(theme),
        width_(width),
        margins_(new QCPMarginGroup(&plot)),
        num_classes_(std::max<std::size_t>(1, legend_of(figure).size())) {
    plot_.plotLayout()->clear();
    plot_.plotLayout()->setRowSpacing(units(3));
    plot_.setBackground(theme_.ground());
    plot_.setAntialiasedElements(QCP::aeAll);
  }

  void build();
  /// Height of everything, units.
  int needed_height() const { return height_ + 2 * units(2); }

 private:
  void add_row(QCPLayoutElement* element, int height);
  void add_title(const std::string& title);
  void add_panels();
  void add_panel(QCPLayoutGrid& grid, std::size_t index);
  void add_content(QCPLayoutGrid& grid, int row, int col, std::size_t index);
  QCPAxisRect* axis_rect();
  void add_colour_bar(QCPLayoutGrid& grid, int rows);
  std::string panel_title(std::size_t index) const;
  bool has_panel_titles() const;
  bool has_map() const;
  MapScale map_scale() const;
  int table_height() const;

  QCustomPlot& plot_;
  const Figure& figure_;
  const PlotTheme& theme_;
  int width_;
  QCPMarginGroup* margins_;
  std::size_t num_classes_;
  int height_ = 0;
};

void FigureLayout::build() {
  if (!theme_.style().title.empty()) {
    add_title(theme_.style().title);
  } else if (!figure_.title.empty()) {
    add_title(figure_.title);
  }
  if (const std::vector<LegendEntry> entries = legend_of(figure_); entries.size() > 1) {
    auto* const legend = new LegendElement(&plot_, entries, theme_, width_ - 2 * units(4));
    add_row(legend, legend->needed_height());
  }
  add_panels();
}

void FigureLayout::add_row(QCPLayoutElement* element, int height) {
  plot_.plotLayout()->addElement(plot_.plotLayout()->rowCount(), 0, element);
  height_ += height + units(3);
}

void FigureLayout::add_title(const std::string& title) {
  auto* const text = new QCPTextElement(&plot_, QString::fromStdString(title), theme_.title_font());
  text->setTextColor(theme_.ink());
  add_row(text, theme_.line_height() + units(4));
}

bool FigureLayout::has_map() const {
  return std::any_of(figure_.panels.begin(), figure_.panels.end(), [](const FigurePanel& panel) {
    return std::holds_alternative<MapPanel>(panel.content);
  });
}

MapScale FigureLayout::map_scale() const {
  const bool is_signed =
      std::any_of(figure_.panels.begin(), figure_.panels.end(), [](const FigurePanel& panel) {
        const auto* const map = std::get_if<MapPanel>(&panel.content);
        return map != nullptr && map->is_signed;
      });
  const auto [low, high] = colour_range_of(figure_);
  return {theme_.map_palette(is_signed), low, high};
}

std::string FigureLayout::panel_title(std::size_t index) const {
  const std::string& title = figure_.panels[index].title;
  if (!theme_.style().panel_letters || figure_.panels.size() > 26) return title;
  return fmt::format("({}) {}", static_cast<char>('a' + index), title);
}

bool FigureLayout::has_panel_titles() const {
  for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
    if (!panel_title(i).empty()) return true;
  }
  return false;
}

int FigureLayout::table_height() const {
  int height = 0;
  for (const FigurePanel& panel : figure_.panels) {
    const auto* const table = std::get_if<TablePanel>(&panel.content);
    if (table == nullptr) continue;
    height = std::max(height, static_cast<int>(1.25 * theme_.line_height() *
                                               static_cast<double>(table->rows.size() + 1)) +
                                  units(6));
  }
  return height;
}

void FigureLayout::add_panels() {
  // In its place before it is filled: what is drawn in a panel looks for its axes in the plot.
  auto* const grid = new QCPLayoutGrid;
  plot_.plotLayout()->addElement(plot_.plotLayout()->rowCount(), 0, grid);
  const int columns = std::max(1, figure_.columns);
  const int rows = (static_cast<int>(figure_.panels.size()) + columns - 1) / columns;
  grid->setColumnSpacing(units(6));
  grid->setRowSpacing(units(4));
  for (std::size_t i = 0; i < figure_.panels.size(); ++i) add_panel(*grid, i);
  if (has_map()) add_colour_bar(*grid, rows);
  // A panel's axis area is what is left of its width beside labels, and as high as its aspect says.
  const int bar = has_map() ? 5 * theme_.line_height() : 0;
  const double cell = (width_ - bar) / static_cast<double>(columns) - units(8);
  const FigurePanel& first = figure_.panels.front();
  const bool has_numbers = !first.x.hides_numbers;
  const int below = (has_numbers ? theme_.line_height() + units(5) : 0) +
                    (first.x.label.empty() ? 0 : theme_.line_height() + units(3));
  const int beside = first.y.hides_numbers ? 0 : 3 * theme_.line_height();
  const int above = has_panel_titles() ? theme_.line_height() + units(4) : units(3);
  const int area = table_height() > 0 ? table_height()
                                      : static_cast<int>((cell - beside) * figure_.panel_aspect);
  height_ += rows * (area + below + above + units(4));
}

void FigureLayout::add_panel(QCPLayoutGrid& grid, std::size_t index) {
  const int columns = std::max(1, figure_.columns);
  const int row = static_cast<int>(index) / columns;
  const int col = static_cast<int>(index) % columns;
  const int title_rows = has_panel_titles() ? 1 : 0;
  const int content_row = (1 + title_rows) * row + title_rows;
  if (const std::string title = panel_title(index); !title.empty()) {
    auto* const text =
        new QCPTextElement(&plot_, QString::fromStdString(title), theme_.label_font());
    text->setTextColor(theme_.ink());
    text->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
    text->setMaximumSize(QWIDGETSIZE_MAX, theme_.line_height() + units(3));
    grid.addElement(content_row - 1, col, text);
    grid.setRowStretchFactor(content_row - 1, 1e-3);
  }
  add_content(grid, content_row, col, index);
}

QCPAxisRect* FigureLayout::axis_rect() {
  auto* const rect = new QCPAxisRect(&plot_, true);
  rect->axis(QCPAxis::atTop)->setVisible(false);
  rect->axis(QCPAxis::atRight)->setVisible(false);
  for (QCPAxis* const axis : rect->axes()) {
    axis->setLayer("axes");
    axis->grid()->setLayer("grid");
  }
  rect->setMinimumMargins(QMargins(units(2), units(3), units(3), units(2)));
  return rect;
}

void FigureLayout::add_content(QCPLayoutGrid& grid, int row, int col, std::size_t index) {
  const FigurePanel& panel = figure_.panels[index];
  if (const auto* const table = std::get_if<TablePanel>(&panel.content)) {
    grid.addElement(row, col, new TableElement(&plot_, *table, theme_));
    return;
  }
  QCPAxisRect* const rect = axis_rect();
  grid.addElement(row, col, rect);
  if (col == 0) rect->setMarginGroup(QCP::msLeft, margins_);
  const PanelPlace place{&plot_, rect, &theme_, num_classes_, map_scale()};
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
    add_curves(place, *curves);
  } else if (const auto* const map = std::get_if<MapPanel>(&panel.content)) {
    add_map(place, *map);
  } else if (const auto* const cloud = std::get_if<CloudPanel>(&panel.content)) {
    add_cloud(place, *cloud);
  } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    add_bars(place, *bars);
  }
  dress_axes(place, panel);
}

void FigureLayout::add_colour_bar(QCPLayoutGrid& grid, int rows) {
  // A map of one column, drawn like the others.
  const MapScale scale = map_scale();
  QCPAxisRect* const rect = axis_rect();
  QCPAxis* const values = rect->axis(QCPAxis::atRight);
  QCPAxis* const steps = rect->axis(QCPAxis::atLeft);
  MatrixD ramp(kColourSteps, 1);
  for (int i = 0; i < kColourSteps; ++i) {
    ramp(i, 0) = scale.low + (scale.high - scale.low) * (i + 0.5) / kColourSteps;
  }
  new MapPlottable(rect->axis(QCPAxis::atBottom), steps, ramp, scale);
  rect->axis(QCPAxis::atBottom)->setRange(-0.5, 0.5);
  steps->setRange(-0.5, kColourSteps - 0.5);
  for (QCPAxis* const axis : {rect->axis(QCPAxis::atBottom), steps}) {
    axis->setVisible(false);
    axis->grid()->setVisible(false);
  }
  values->setVisible(true);
  values->setRange(scale.low, scale.high);
  values->grid()->setVisible(false);
  values->setTickLabels(true);
  values->setTickLabelFont(theme_.tick_font());
  values->setLabelFont(theme_.label_font());
  values->setLabel(QString::fromStdString(figure_.colour_label));
  for (const auto& set : {&QCPAxis::setTickLabelColor, &QCPAxis::setLabelColor}) {
    (values->*set)(theme_.ink());
  }
  values->setBasePen(theme_.axis_pen());
  values->setTickPen(theme_.axis_pen());
  values->setSubTicks(false);
  values->setTickLength(0, units(2));
  values->setTickLabelPadding(units(2));
  values->setLabelPadding(units(3));
  const int columns = std::max(1, figure_.columns);
  rect->setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
  rect->setMinimumSize(units(7), 0);
  rect->setMaximumSize(units(7), QWIDGETSIZE_MAX);
  // In the last row of panels: as high as one of them.
  grid.addElement(has_panel_titles() ? 2 * rows - 1 : rows - 1, columns, rect);
}

}  // namespace

FigurePainter::FigurePainter(const Figure& figure, const FigureStyle& style)
    : plot_(std::make_unique<QCustomPlot>()) {
  style.validate();
  if (figure.panels.empty()) {
    throw InvalidArgument("figure: must have a panel, '{}' has none", figure.name);
  }
  const PlotTheme theme(style);
  const FigureSize wanted = figure_size(style.size);
  const int width = static_cast<int>(std::lround(wanted.width_mm * kUnitsPerMm));
  FigureLayout layout(*plot_, figure, theme, width);
  layout.build();
  const int height = wanted.height_mm
                         ? static_cast<int>(std::lround(*wanted.height_mm * kUnitsPerMm))
                         : layout.needed_height();
  size_ = QSize(width, height);
}

FigurePainter::~FigurePainter() = default;

QSize FigurePainter::size_units() const { return size_; }
QSizeF FigurePainter::size_mm() const { return QSizeF(size_) / kUnitsPerMm; }

void FigurePainter::paint(QPaintDevice& device, double scale) {
  QCPPainter painter;
  if (!painter.begin(&device)) throw IoError("figure: cannot be drawn");
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  painter.scale(scale, scale);
  plot_->toPainter(&painter, size_.width(), size_.height());
  painter.end();
}

}  // namespace lime

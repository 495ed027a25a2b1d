// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/text_elements.h"

#include <QFontMetricsF>
#include <algorithm>
#include <numeric>

namespace lime {
namespace {

constexpr double kSampleWidth = 180.0;  // of a legend line, units
constexpr double kSampleGap = 40.0;     // between sample and text
constexpr double kEntryGap = 120.0;     // between entries
constexpr double kColumnGap = 120.0;    // between columns of a table
constexpr double kLegendMarkerSize = 42.0;

QString text_of(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

LegendElement::LegendElement(QCustomPlot* plot, std::vector<LegendEntry> entries,
                             std::size_t num_colours, const PlotTheme& theme, int width)
    : QCPLayoutElement(plot),
      entries_(std::move(entries)),
      num_colours_(num_colours),
      theme_(theme) {
  for (LegendEntry& entry : entries_) {
    const double room = width - entry_width({"", entry.style, entry.is_line, false});
    entry.label = QFontMetricsF(theme_.tick_font())
                      .elidedText(text_of(entry.label), Qt::ElideMiddle, room)
                      .toStdString();
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool fits = !lines_.empty() &&
                      line_width(lines_.back()) + kEntryGap + entry_width(entries_[i]) <= width;
    if (!fits) lines_.emplace_back();
    lines_.back().push_back(i);
  }
  const int height = static_cast<int>(lines_.size()) * theme_.line_height();
  setMinimumSize(0, height);
  setMaximumSize(QWIDGETSIZE_MAX, height);
}

double LegendElement::entry_width(const LegendEntry& entry) const {
  const double sample = entry.is_line ? kSampleWidth : kLegendMarkerSize;
  return sample + kSampleGap +
         QFontMetricsF(theme_.tick_font()).horizontalAdvance(text_of(entry.label));
}

double LegendElement::line_width(const std::vector<std::size_t>& line) const {
  double width = kEntryGap * static_cast<double>(line.size() - 1);
  for (const std::size_t i : line) width += entry_width(entries_[i]);
  return width;
}

void LegendElement::draw(QCPPainter* painter) {
  painter->setFont(theme_.tick_font());
  const double height = theme_.line_height();
  double y = rect().top();
  for (const std::vector<std::size_t>& line : lines_) {
    double x = rect().center().x() - line_width(line) / 2.0;
    for (const std::size_t i : line) {
      const LegendEntry& entry = entries_[i];
      const double sample = entry.is_line ? kSampleWidth : kLegendMarkerSize;
      draw_sample(painter, entry, {x, y, sample, height});
      painter->setPen(theme_.ink());
      painter->drawText(QRectF(x + sample + kSampleGap, y, 1e5, height),
                        Qt::AlignLeft | Qt::AlignVCenter, text_of(entry.label));
      x += entry_width(entry) + kEntryGap;
    }
    y += height;
  }
}

void LegendElement::draw_sample(QCPPainter* painter, const LegendEntry& entry,
                                const QRectF& area) const {
  const QColor colour = theme_.class_colour(entry.style.colour, num_colours_);
  if (entry.is_line) {
    painter->setPen(theme_.curve_pen(entry.style, num_colours_));
    painter->drawLine(QLineF(area.left(), area.center().y(), area.right(), area.center().y()));
  }
  painter->setPen(Qt::NoPen);
  painter->setBrush(colour);
  const MarkerShape marker =
      entry.is_class ? theme_.class_marker(entry.style.colour) : entry.style.marker;
  painter->drawPath(marker_path(marker, kLegendMarkerSize).translated(area.center()));
}

TableElement::TableElement(QCustomPlot* plot, TablePanel table, const PlotTheme& theme)
    : QCPLayoutElement(plot), table_(std::move(table)), theme_(theme) {
  const auto lines = static_cast<double>(table_.rows.size() + 1);
  setMinimumSize(0, static_cast<int>(1.25 * theme_.line_height() * lines) + units(6));
}

std::vector<double> TableElement::column_widths() const {
  const QFontMetricsF metrics(theme_.tick_font());
  std::vector<double> widths(table_.head.size(), 0.0);
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c) {
      widths[c] = std::max(widths[c], metrics.horizontalAdvance(text_of(cells[c])));
    }
  };
  widen(table_.head);
  for (const auto& row : table_.rows) widen(row);
  return widths;
}

void TableElement::draw(QCPPainter* painter) {
  const std::vector<double> widths = column_widths();
  const double gaps = kColumnGap * static_cast<double>(widths.size() - 1);
  const double width = std::accumulate(widths.begin(), widths.end(), gaps);
  // A table that is too wide is scaled down as a whole.
  const double share = std::min(1.0, (rect().width() - units(6)) / width);
  painter->save();
  painter->translate(rect().center().x(), rect().top());
  painter->scale(share, share);
  const double left = -width / 2.0;
  const double height = 1.25 * theme_.line_height();
  double y = units(2);
  const auto rule = [&](double thickness) {
    painter->setPen(QPen(theme_.ink(), units(thickness)));
    painter->drawLine(QLineF(left - units(2), y, left + width + units(2), y));
    y += units(1.5);
  };
  const auto line = [&](const std::vector<std::string>& cells) {
    double x = left;
    painter->setPen(theme_.ink());
    for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c) {
      painter->drawText(QRectF(x, y, widths[c] + 10.0, height),
                        (c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
                        text_of(cells[c]));
      x += widths[c] + kColumnGap;
    }
    y += height;
  };
  painter->setFont(theme_.tick_font());
  rule(0.8);
  line(table_.head);
  rule(0.5);
  for (std::size_t r = 0; r < table_.rows.size(); ++r) {
    const auto& rules = table_.rules;
    if (std::find(rules.begin(), rules.end(), static_cast<int>(r)) != rules.end()) rule(0.5);
    line(table_.rows[r]);
  }
  rule(0.8);
  painter->restore();
}

NoteElement::NoteElement(QCustomPlot* plot, const std::string& text, const QFont& font,
                         const QColor& colour, int width)
    : QCPLayoutElement(plot), text_(text_of(text)), font_(font), colour_(colour) {
  const QRectF box =
      QFontMetricsF(font_).boundingRect(QRectF(0, 0, width, 1e6), Qt::TextWordWrap, text_);
  const int height = static_cast<int>(box.height()) + units(1);
  setMinimumSize(0, height);
  setMaximumSize(QWIDGETSIZE_MAX, height);
}

void NoteElement::draw(QCPPainter* painter) {
  painter->setFont(font_);
  painter->setPen(colour_);
  painter->drawText(QRectF(rect()), Qt::TextWordWrap | Qt::AlignHCenter | Qt::AlignTop, text_);
}

}  // namespace lime

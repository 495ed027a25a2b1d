// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/heatmap_plottable.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "viz/plots/plot_theme.h"

namespace lime {
namespace {

/// Above this number of cells the heatmap is drawn as an image.
constexpr Eigen::Index kMaxVectorCells = 40'000;
/// Colours of an image: neighbours differ by at most 1 of 255 in each channel.
constexpr int kColourSteps = 4096;
constexpr double kOverlap = 6.0;          // of adjacent cells, units
constexpr float kCrossAlpha = 0.55F;      // numbers underneath stay readable
constexpr double kCornerShare = 0.4;      // fraction of the cell covered by a corner mark
constexpr double kSmallestMarked = 2.5;   // minimum side of a cell with a mark, points
constexpr double kLargestCorner = 6.0;    // maximum size of a corner mark, points
constexpr double kSmallestNumbers = 0.6;  // relative to the font size

/// Uses a true minus sign, but none before numbers that round to zero.
QString number_text(double value, int decimals) {
  QString text = QString::number(value, 'f', decimals);
  if (text.toDouble() == 0.0) text.remove(QLatin1Char('-'));
  return text.replace(QLatin1Char('-'), QChar(0x2212));
}

}  // namespace

double HeatmapScale::place(double value) const {
  if (!is_logarithmic) return (value - low) / (high - low);
  return std::log(std::max(value, low) / low) / std::log(high / low);
}

double HeatmapScale::value(double place) const {
  return is_logarithmic ? low * std::pow(high / low, place) : low + (high - low) * place;
}

Colour HeatmapScale::colour(double value) const { return heatmap_colour(palette, place(value)); }

QRectF HeatmapPlottable::cell_rect(Eigen::Index row, Eigen::Index col) const {
  const auto x = static_cast<double>(col);
  const auto y = static_cast<double>(row);
  // Whole units, so that adjacent cells meet exactly.
  const double left = std::round(mKeyAxis->coordToPixel(x - 0.5));
  const double right = std::round(mKeyAxis->coordToPixel(x + 0.5));
  const double top = std::round(mValueAxis->coordToPixel(y + 0.5));
  const double bottom = std::round(mValueAxis->coordToPixel(y - 0.5));
  return QRectF(QPointF(left, top), QPointF(right, bottom)).normalized();
}

void HeatmapPlottable::draw(QCPPainter* painter) {
  if (const MatrixD coarse = cells_of_pixels(*painter); coarse.size() > 0) {
    painter->setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter->drawImage(all_cells(), image_of(coarse));
  } else if (is_rasterized_ || panel_.values.size() > kMaxVectorCells) {
    if (image_.isNull()) image_ = image_of(panel_.values);
    painter->setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter->drawImage(all_cells(), image_);
  } else {
    draw_cells(painter);
  }
  if (panel_.shows_numbers) draw_numbers(painter);
  draw_marks(painter);
}

void HeatmapPlottable::draw_cells(QCPPainter* painter) const {
  painter->setRenderHint(QPainter::Antialiasing, false);
  for (Eigen::Index r = 0; r < panel_.values.rows(); ++r) {
    for (Eigen::Index c = 0; c < panel_.values.cols(); ++c) {
      if (!std::isfinite(panel_.values(r, c))) continue;
      // Overlaps the neighbours drawn later; rounding to image pixels would leave seams.
      const bool has_right = c + 1 < panel_.values.cols() && std::isfinite(panel_.values(r, c + 1));
      const bool has_above = r + 1 < panel_.values.rows() && std::isfinite(panel_.values(r + 1, c));
      const QRectF cell = cell_rect(r, c);
      const QColor colour = to_qcolor(scale_.colour(panel_.values(r, c)));
      painter->fillRect(cell.adjusted(0.0, 0.0, has_right ? kOverlap : 0.0, 0.0), colour);
      if (has_above) {
        painter->fillRect(
            QRectF(cell.topLeft() - QPointF(0.0, kOverlap), QSizeF(cell.width(), kOverlap)),
            colour);
      }
    }
  }
}

QRectF HeatmapPlottable::all_cells() const {
  return cell_rect(0, 0).united(cell_rect(panel_.values.rows() - 1, panel_.values.cols() - 1));
}

MatrixD HeatmapPlottable::cells_of_pixels(const QCPPainter& painter) const {
  const int device = painter.device()->devType();
  if (device != QInternal::Image && device != QInternal::Pixmap) return {};
  const QRectF pixels = painter.combinedTransform().mapRect(all_cells());
  const auto count = [](double size, Eigen::Index cells) {
    return std::clamp(static_cast<Eigen::Index>(size), Eigen::Index{1}, cells);
  };
  const Eigen::Index rows = count(pixels.height(), panel_.values.rows());
  const Eigen::Index cols = count(pixels.width(), panel_.values.cols());
  if (rows == panel_.values.rows() && cols == panel_.values.cols()) return {};
  MatrixD coarse = MatrixD::Constant(rows, cols, std::numeric_limits<double>::quiet_NaN());
  for (Eigen::Index r = 0; r < panel_.values.rows(); ++r) {
    for (Eigen::Index c = 0; c < panel_.values.cols(); ++c) {
      double& shown = coarse(r * rows / panel_.values.rows(), c * cols / panel_.values.cols());
      const double value = panel_.values(r, c);
      if (std::isfinite(value) && !(std::abs(value) <= std::abs(shown))) shown = value;
    }
  }
  return coarse;
}

QImage HeatmapPlottable::image_of(const MatrixD& cells) {
  if (colours_.empty()) {
    for (int i = 0; i < kColourSteps; ++i) {
      const Colour colour = heatmap_colour(scale_.palette, i / (kColourSteps - 1.0));
      colours_.push_back(qRgb(colour.red, colour.green, colour.blue));
    }
  }
  QImage image(static_cast<int>(cells.cols()), static_cast<int>(cells.rows()),
               QImage::Format_ARGB32);
  image.fill(Qt::transparent);
  const double steps = scale_.high > scale_.low ? kColourSteps - 1.0 : 0.0;
  for (Eigen::Index r = 0; r < cells.rows(); ++r) {
    auto* const line =
        reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(cells.rows() - 1 - r)));
    for (Eigen::Index c = 0; c < cells.cols(); ++c) {
      const double value = cells(r, c);
      if (!std::isfinite(value)) continue;
      const double place =
          steps > 0.0 ? std::clamp(scale_.place(value) * steps, 0.0, kColourSteps - 1.0) : 0.0;
      line[c] = colours_[static_cast<std::size_t>(place + 0.5)];
    }
  }
  return image;
}

QColor HeatmapPlottable::ink_on(double value) const {
  const bool is_dark = luma(scale_.colour(value)) < 0.5;
  return is_dark ? QColor(255, 255, 255) : QColor(20, 20, 20);
}

void HeatmapPlottable::draw_marks(QCPPainter* painter) const {
  if (panel_.marks.empty()) return;
  const QSizeF size = cell_rect(0, 0).size();
  if (std::min(size.width(), size.height()) < units(kSmallestMarked)) return;
  painter->setRenderHint(QPainter::Antialiasing, true);
  const QCPRange cols = mKeyAxis->range();
  const QCPRange rows = mValueAxis->range();
  for (const HeatmapPanel::Mark& mark : panel_.marks) {
    if (mark.row >= panel_.values.rows() || mark.col >= panel_.values.cols()) continue;
    // When zoomed in, nearly all of them are out of view.
    if (mark.col + 1 < cols.lower || mark.col - 1 > cols.upper) continue;
    if (mark.row + 1 < rows.lower || mark.row - 1 > rows.upper) continue;
    const double value = panel_.values(mark.row, mark.col);
    const QRectF cell = cell_rect(mark.row, mark.col);
    QColor ink = ink_on(std::isfinite(value) ? value : 0.5 * (scale_.low + scale_.high));
    if (mark.is_crossed) {
      ink.setAlphaF(kCrossAlpha);
      painter->setPen(QPen(ink, units(0.7), Qt::SolidLine, Qt::FlatCap));
      const QRectF inner = cell.adjusted(0.14 * cell.width(), 0.14 * cell.height(),
                                         -0.14 * cell.width(), -0.14 * cell.height());
      painter->drawLine(inner.topLeft(), inner.bottomRight());
      painter->drawLine(inner.bottomLeft(), inner.topRight());
      continue;
    }
    const double side = std::min({kCornerShare * cell.width(), kCornerShare * cell.height(),
                                  static_cast<double>(units(kLargestCorner))});
    const QPointF corner = cell.topRight();
    painter->setPen(Qt::NoPen);
    painter->setBrush(ink);
    painter->drawPolygon(
        QPolygonF{corner, corner - QPointF(side, 0.0), corner + QPointF(0.0, side)});
    painter->setBrush(Qt::NoBrush);
  }
}

void HeatmapPlottable::draw_numbers(QCPPainter* painter) const {
  // As large as the cells allow; omitted if that is too small to read.
  const QSizeF cell = cell_rect(0, 0).size();
  const QRectF text =
      QFontMetricsF(number_font_)
          .boundingRect(QString::number(std::max(std::abs(scale_.low), std::abs(scale_.high)), 'f',
                                        panel_.decimals));
  const double share =
      std::min({1.0, 0.85 * cell.width() / text.width(), 0.9 * cell.height() / text.height()});
  if (share < kSmallestNumbers) return;
  QFont font = number_font_;
  font.setPixelSize(static_cast<int>(share * font.pixelSize()));
  painter->setFont(font);
  for (Eigen::Index r = 0; r < panel_.values.rows(); ++r) {
    for (Eigen::Index c = 0; c < panel_.values.cols(); ++c) {
      const double value = panel_.values(r, c);
      if (!std::isfinite(value)) continue;
      painter->setPen(ink_on(value));
      painter->drawText(cell_rect(r, c), Qt::AlignCenter, number_text(value, panel_.decimals));
    }
  }
}

}  // namespace lime

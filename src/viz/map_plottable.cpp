// SPDX-License-Identifier: Apache-2.0
#include "viz/map_plottable.h"

#include <cmath>

namespace lime {
namespace {

/// More cells than this are drawn as a picture.
constexpr Eigen::Index kMaxVectorCells = 40'000;
constexpr double kOverlap = 6.0;          // of neighbouring cells, units
constexpr double kSmallestNumbers = 0.6;  // of the font's size

}  // namespace

Colour MapScale::colour(double value) const {
  return map_colour(palette, (value - low) / (high - low));
}

MapPlottable::MapPlottable(QCPAxis* keys, QCPAxis* values, MatrixD cells, MapScale scale)
    : QCPAbstractPlottable(keys, values), cells_(std::move(cells)), scale_(scale) {}

QCPRange MapPlottable::getKeyRange(bool& found, QCP::SignDomain) const {
  found = cells_.cols() > 0;
  return {-0.5, static_cast<double>(cells_.cols()) - 0.5};
}

QCPRange MapPlottable::getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const {
  found = cells_.rows() > 0;
  return {-0.5, static_cast<double>(cells_.rows()) - 0.5};
}

QRectF MapPlottable::cell_rect(Eigen::Index row, Eigen::Index col) const {
  const auto x = static_cast<double>(col);
  const auto y = static_cast<double>(row);
  // Whole units, so that neighbours meet exactly.
  const double left = std::round(mKeyAxis->coordToPixel(x - 0.5));
  const double right = std::round(mKeyAxis->coordToPixel(x + 0.5));
  const double top = std::round(mValueAxis->coordToPixel(y + 0.5));
  const double bottom = std::round(mValueAxis->coordToPixel(y - 0.5));
  return QRectF(QPointF(left, top), QPointF(right, bottom)).normalized();
}

void MapPlottable::draw(QCPPainter* painter) {
  if (always_picture_ || cells_.size() > kMaxVectorCells) {
    draw_picture(painter);
  } else {
    draw_cells(painter);
  }
  if (number_font_) draw_numbers(painter);
}

void MapPlottable::draw_cells(QCPPainter* painter) const {
  painter->setRenderHint(QPainter::Antialiasing, false);
  for (Eigen::Index r = 0; r < cells_.rows(); ++r) {
    for (Eigen::Index c = 0; c < cells_.cols(); ++c) {
      if (!std::isfinite(cells_(r, c))) continue;
      // Reaches a little below the neighbours that are drawn later, or rounding to the pixels of a
      // picture would leave seams.
      const bool has_right = c + 1 < cells_.cols() && std::isfinite(cells_(r, c + 1));
      const bool has_above = r + 1 < cells_.rows() && std::isfinite(cells_(r + 1, c));
      const QRectF cell = cell_rect(r, c);
      const QColor colour = to_qcolor(scale_.colour(cells_(r, c)));
      painter->fillRect(cell.adjusted(0.0, 0.0, has_right ? kOverlap : 0.0, 0.0), colour);
      if (has_above) {
        painter->fillRect(
            QRectF(cell.topLeft() - QPointF(0.0, kOverlap), QSizeF(cell.width(), kOverlap)),
            colour);
      }
    }
  }
}

QImage MapPlottable::picture() const {
  QImage image(static_cast<int>(cells_.cols()), static_cast<int>(cells_.rows()),
               QImage::Format_ARGB32);
  image.fill(Qt::transparent);
  for (Eigen::Index r = 0; r < cells_.rows(); ++r) {
    for (Eigen::Index c = 0; c < cells_.cols(); ++c) {
      if (!std::isfinite(cells_(r, c))) continue;
      image.setPixelColor(static_cast<int>(c), static_cast<int>(cells_.rows() - 1 - r),
                          to_qcolor(scale_.colour(cells_(r, c))));
    }
  }
  return image;
}

void MapPlottable::draw_picture(QCPPainter* painter) {
  if (picture_.isNull()) picture_ = picture();
  const QRectF target = cell_rect(0, 0).united(cell_rect(cells_.rows() - 1, cells_.cols() - 1));
  painter->setRenderHint(QPainter::SmoothPixmapTransform, false);
  painter->drawImage(target, picture_);
}

void MapPlottable::draw_numbers(QCPPainter* painter) const {
  // As large as the cells allow; where that is too small to read, colours must do.
  const QSizeF cell = cell_rect(0, 0).size();
  const QRectF text = QFontMetricsF(*number_font_).boundingRect(QStringLiteral("0.00"));
  const double share =
      std::min({1.0, 0.85 * cell.width() / text.width(), 0.9 * cell.height() / text.height()});
  if (share < kSmallestNumbers) return;
  QFont font = *number_font_;
  font.setPixelSize(static_cast<int>(share * font.pixelSize()));
  painter->setFont(font);
  for (Eigen::Index r = 0; r < cells_.rows(); ++r) {
    for (Eigen::Index c = 0; c < cells_.cols(); ++c) {
      const double value = cells_(r, c);
      if (!std::isfinite(value)) continue;
      const bool is_dark = luma(scale_.colour(value)) < 0.5;
      painter->setPen(is_dark ? QColor(255, 255, 255) : QColor(20, 20, 20));
      painter->drawText(cell_rect(r, c), Qt::AlignCenter,
                        QString::number(value, 'f', 2).replace('-', QChar(0x2212)));
    }
  }
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/disc_stamp.h"

#include <algorithm>
#include <cmath>

namespace lime::explorer {

DiscStamp::DiscStamp(double radius) : reach_(static_cast<int>(std::ceil(radius))) {
  for (int y = -reach_; y <= reach_; ++y) {
    for (int x = -reach_; x <= reach_; ++x) {
      const double outside = std::hypot(x, y) - radius + 0.5;
      cover_.push_back(static_cast<int>(255.0 * std::clamp(1.0 - outside, 0.0, 1.0)));
    }
  }
}

void DiscStamp::put(QImage& image, int x, int y, QRgb colour, int strength) const {
  if (x < -reach_ || y < -reach_ || x >= image.width() + reach_ || y >= image.height() + reach_) {
    return;
  }
  const int red = qRed(colour);
  const int green = qGreen(colour);
  const int blue = qBlue(colour);
  const int side = 2 * reach_ + 1;
  const int left = std::max(0, x - reach_);
  const int right = std::min(image.width() - 1, x + reach_);
  for (int row = std::max(0, y - reach_); row <= std::min(image.height() - 1, y + reach_); ++row) {
    auto* const line = reinterpret_cast<QRgb*>(image.scanLine(row));
    const int* const cover = cover_.data() + (row - y + reach_) * side;
    for (int col = left; col <= right; ++col) {
      const int share = cover[col - x + reach_] * strength / 255;
      if (share == 0) continue;
      const QRgb under = line[col];
      const auto mix = [share](int over, int below) {
        return below + (over - below) * share / 255;
      };
      line[col] = qRgb(mix(red, qRed(under)), mix(green, qGreen(under)), mix(blue, qBlue(under)));
    }
  }
}

}  // namespace lime::explorer

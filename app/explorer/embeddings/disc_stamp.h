// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <vector>

namespace lime::explorer {

/// Draws discs with soft edges into images, fast enough for 60,000 of them in a frame.
class DiscStamp {
 public:
  /// @param radius  pixels
  explicit DiscStamp(double radius);

  /// Blends the disc over an image of opaque pixels. @param strength  of 255
  void put(QImage& image, int x, int y, QRgb colour, int strength) const;

 private:
  int reach_;
  std::vector<int> cover_;  ///< of each pixel, of 255
};

}  // namespace lime::explorer

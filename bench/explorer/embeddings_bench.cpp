// SPDX-License-Identifier: Apache-2.0
// Times a frame of the Embeddings view while all points move from layer to layer, drawn offscreen;
// a real screen adds only the copy to the display.
//   lime-bench-embeddings [POINTS [FRAMES]]
#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/random.h"
#include "explorer/embeddings/embedding_canvas.h"

namespace lime::explorer {
namespace {

constexpr int kWarmUp = 10;

MatrixF normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  return MatrixF::NullaryExpr(static_cast<Eigen::Index>(count), 2,
                              [&] { return static_cast<float>(random.normal()); });
}

/// Times frames in which points move from one embedding to another; selects a tenth of them or
/// none.
void timeFrames(EmbeddingCanvas& canvas, std::size_t count, int frames, bool has_selected) {
  const MatrixF from = normals(count, 1);
  const MatrixF to = normals(count, 2);
  canvas.setPoints(from, QRectF(-4.0, -4.0, 8.0, 8.0));
  std::vector<int> selected;
  for (std::size_t i = 0; has_selected && i < count; i += 10)
    selected.push_back(static_cast<int>(i));
  canvas.setSelected(selected);
  QImage image(canvas.QWidget::size(), QImage::Format_RGB32);
  std::vector<double> milliseconds;
  for (int frame = 0; frame < frames + kWarmUp; ++frame) {
    QElapsedTimer timer;
    timer.start();
    const float share = static_cast<float>(frame) / static_cast<float>(frames + kWarmUp);
    canvas.movePoints(from + share * (to - from));
    canvas.render(&image);
    if (frame >= kWarmUp) milliseconds.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const double median = milliseconds[milliseconds.size() / 2];
  const double slow = milliseconds[milliseconds.size() * 99 / 100];
  fmt::print(
      "{} points move, {} selected: median {:.2f} ms ({:.0f} frames/s), 99% below {:.2f} ms\n",
      count, selected.size(), median, 1000.0 / median, slow);
}

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  const auto count = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 60'000);
  const int frames = argc > 2 ? std::atoi(argv[2]) : 200;
  lime::explorer::EmbeddingCanvas canvas;
  canvas.resize(900, 800);
  canvas.show();
  lime::explorer::timeFrames(canvas, count, frames, false);
  lime::explorer::timeFrames(canvas, count, frames, true);
  return 0;
}

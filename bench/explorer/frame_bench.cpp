// SPDX-License-Identifier: Apache-2.0
// Times frames of the explorer while the user drags, scrolls and switches figures. Mouse events are
// simulated, each followed by a repaint of a shown window, drawn offscreen; a real screen adds only
// the copy to the display.
//   lime-bench-frames [LAYERS HEADS [FRAMES [WIDTH HEIGHT]]]
#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QHashSeed>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QWindow>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "analysis/router/checkpoint_routers.h"
#include "core/random.h"
#include "explorer/router/router_flow_figure.h"
#include "explorer/router/router_maps.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr int kWarmUp = 10;
constexpr double kNotch = 120.0;  // one wheel step

CheckpointRouters randomRouters(std::int64_t layers, std::int64_t heads) {
  Random random(1);
  Routers routers = Routers::identity(layers, heads);
  for (MatrixD& router : routers.weights) {
    router = router.unaryExpr([&](double) { return random.normal(); });
  }
  return CheckpointRouters(std::move(routers));
}

void sendMouse(FigureView& view, QEvent::Type type, const QPointF& at, Qt::MouseButton button) {
  const Qt::MouseButtons held =
      type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::MouseButtons(Qt::LeftButton);
  QMouseEvent event(type, at, view.mapToGlobal(at), button, held, Qt::NoModifier);
  QApplication::sendEvent(&view, &event);
}

void sendWheel(FigureView& view, const QPointF& at, double notches) {
  QWheelEvent event(at, view.mapToGlobal(at), QPoint(),
                    QPoint(0, static_cast<int>(notches * kNotch)), Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(&view, &event);
}

/// Runs `step` and paints the window `frames` times, then prints the median and 99th percentile.
void timeFrames(const std::string& what, FigureView& view, int frames,
                const std::function<void(int)>& step) {
  std::vector<double> milliseconds;
  for (int frame = 0; frame < frames + kWarmUp; ++frame) {
    QElapsedTimer timer;
    timer.start();
    step(frame);
    view.repaint();
    if (frame >= kWarmUp) milliseconds.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const double median = milliseconds[milliseconds.size() / 2];
  const double slow = milliseconds[milliseconds.size() * 99 / 100];
  fmt::print("{:<44} median {:6.2f} ms ({:4.0f} frames/s), 99% below {:6.2f} ms\n", what, median,
             1000.0 / median, slow);
}

/// Drags the figure in a circle.
void timeDrag(const std::string& what, FigureView& view, int frames) {
  const QPointF middle = view.panelArea(0).center();
  const auto at = [&](int frame) {
    const double angle = 0.15 * frame;
    return middle + 0.3 * view.height() * QPointF(std::sin(angle), 1.0 - std::cos(angle));
  };
  sendMouse(view, QEvent::MouseButtonPress, at(0), Qt::LeftButton);
  timeFrames(what, view, frames,
             [&](int frame) { sendMouse(view, QEvent::MouseMove, at(frame + 1), Qt::NoButton); });
  sendMouse(view, QEvent::MouseButtonRelease, at(0), Qt::LeftButton);
}

/// Runs all measurements of one figure; `next` returns the figure of another head or layer.
void show(FigureView& view, const std::string& name, const std::function<Figure(int)>& next,
          int frames) {
  view.setFigure(next(0));
  view.repaint();
  const QPointF middle = view.panelArea(0).center();
  timeFrames(name + ": wheel", view, frames,
             [&](int frame) { sendWheel(view, middle, frame % 20 < 10 ? 1.0 : -1.0); });
  view.showAll();
  sendWheel(view, middle, 1.0);
  timeDrag(name + ": drag, nearly all seen", view, frames);
  sendWheel(view, middle, 6.0);
  timeDrag(name + ": drag, from near", view, frames);
  view.showAll();
  timeFrames(name + ": walk to another", view, frames,
             [&](int frame) { view.setFigure(next(frame)); });
}

int run(int layers, int heads, int frames, const QSize& size) {
  const CheckpointRouters routers = randomRouters(layers, heads);
  const RouterSubject subject{&routers, nullptr};
  FigureView view;
  view.setFigureStyle(screenStyle(view, {}));
  view.setKeepsAspect(true);
  view.resize(size);
  view.show();
  // A window that is not exposed yet is not painted.
  while (!view.windowHandle()->isExposed()) QApplication::processEvents();
  fmt::print("{} layers, {} heads, {} x {} pixels\n", layers, heads, view.width(), view.height());
  const int last = layers - 1;
  show(
      view, "mean map", [&](int) { return layerMap(subject, {}).figure; }, frames);
  show(
      view, "heads of a layer", [&](int i) { return headMap(subject, last - i % 2, {}).figure; },
      frames);
  show(
      view, "weights of a layer",
      [&](int i) { return blockMap(subject, last, layers / 2 - i % 2, {}).figure; }, frames);
  view.setKeepsAspect(false);
  show(
      view, "flow into a head",
      [&](int i) { return flowFigure(routers, last, i % heads, {}).figure; }, frames);
  return 0;
}

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QHashSeed::setDeterministicGlobalSeed();
  QApplication application(argc, argv);
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  return lime::explorer::run(number(1, 128), number(2, 32), number(3, 200),
                             QSize(number(4, 1000), number(5, 900)));
}

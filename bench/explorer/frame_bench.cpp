// SPDX-License-Identifier: Apache-2.0
// How long a frame takes while figures of the explorer are moved and zoomed, drawn offscreen: what
// is left of it on a screen is the copy to the display.
//   lime-bench-frames [LAYERS HEADS [FRAMES]]
#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QHashSeed>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "analysis/router_exploration.h"
#include "core/random.h"
#include "explorer/models/router_figures.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/theme.h"

namespace lime::explorer {
namespace {

constexpr int kWarmUp = 10;

RouterExploration randomRouters(std::int64_t layers, std::int64_t heads) {
  Random random(1);
  Routers routers = Routers::identity(layers, heads);
  for (MatrixD& router : routers.weights) {
    router = router.unaryExpr([&](double) { return random.normal(); });
  }
  return RouterExploration(std::move(routers));
}

/// Runs `step` and draws `frames` times and prints the median and the 99th percentile.
void timeFrames(const std::string& what, FigureView& view, int frames,
                const std::function<void(int)>& step) {
  std::vector<double> milliseconds;
  for (int frame = 0; frame < frames + kWarmUp; ++frame) {
    QElapsedTimer timer;
    timer.start();
    step(frame);
    view.grab();
    if (frame >= kWarmUp) milliseconds.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const double median = milliseconds[milliseconds.size() / 2];
  const double slow = milliseconds[milliseconds.size() * 99 / 100];
  fmt::print("{:<44} median {:6.2f} ms ({:4.0f} frames/s), 99 % below {:6.2f} ms\n", what, median,
             1000.0 / median, slow);
}

int run(int layers, int heads, int frames) {
  const RouterExploration routers = randomRouters(layers, heads);
  const RouterSubject subject{&routers, nullptr};
  FigureView view;
  view.setFigureStyle(screenStyle(view, {}));
  view.setKeepsAspect(true);
  view.resize(1000, 900);
  view.show();
  const auto zoomAndMove = [&view](int frame) {
    // In and out again, as a wheel does.
    view.zoom(frame % 20 < 10 ? 1.2 : 1.0 / 1.2);
  };
  const auto show = [&](const std::string& name, const Figure& figure) {
    view.setFigure(figure);
    timeFrames(fmt::format("{}: zoom", name), view, frames, zoomAndMove);
    view.showAll();
    timeFrames(fmt::format("{}: another figure", name), view, frames,
               [&](int) { view.setFigure(figure); });
  };
  fmt::print("{} layers, {} heads, {} x {} pixels\n", layers, heads, view.width(), view.height());
  show("mean map", layerMap(subject, {}).figure);
  show("heads of the last layer", headMap(subject, layers - 1, {}).figure);
  show("weights of the last layer", blockMap(subject, layers - 1, layers / 2, {}).figure);
  QElapsedTimer timer;
  timer.start();
  const Figure flow = flowPicture(routers, layers - 1, 0, {}).figure;
  fmt::print("{:<44} {:6.2f} ms\n", "flow of a head: computed in",
             static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  view.setKeepsAspect(false);
  show("flow of a head", flow);
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
  return lime::explorer::run(number(1, 128), number(2, 32), number(3, 200));
}

// SPDX-License-Identifier: Apache-2.0
// Times the Interventions view from a key press or click to the repainted heatmaps, with many
// existing edits. The window is drawn offscreen; a real screen adds only the copy to the display.
//   lime-bench-interventions CHECKPOINT [EDITS [TIMES [WIDTH HEIGHT]]]
#include <fmt/format.h>
#include <time.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QThread>
#include <QUndoStack>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/router/checkpoint_routers.h"
#include "core/json.h"
#include "core/random.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/models/document.h"
#include "explorer/models/preferences.h"
#include "explorer/models/workspace.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {
namespace {

constexpr int kWarmUp = 3;

double processorMilliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Returns the `share` quantile of `values`.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Counts the paint events of a widget.
class PaintCounter : public QObject {
 public:
  explicit PaintCounter(QWidget& widget) { widget.installEventFilter(this); }
  int count() const { return count_; }

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Paint) ++count_;
    return false;
  }

 private:
  int count_ = 0;
};

FigureView& plotCalled(const InterventionsView& view, const char* name) {
  for (FigureView* const plot : view.findChildren<FigureView*>()) {
    if (plot->accessibleName() == QLatin1String(name)) return *plot;
  }
  throw std::runtime_error(std::string("there is no plot called ") + name);
}

void sendKey(QWidget& widget, int key) {
  for (const QEvent::Type type : {QEvent::KeyPress, QEvent::KeyRelease}) {
    QKeyEvent event(type, key, Qt::NoModifier);
    QApplication::sendEvent(&widget, &event);
  }
}

/// Clicks at `at` on the axes of the first panel.
void sendClick(FigureView& plot, const QPointF& at) {
  const QPointF pixel = plot.toPixel(0, at);
  for (const QEvent::Type type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
    QMouseEvent event(type, pixel, plot.mapToGlobal(pixel), Qt::LeftButton,
                      type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton,
                      Qt::NoModifier);
    QApplication::sendEvent(&plot, &event);
  }
}

/// Creates typical edits: of weights, of one layer's reads of another, of heads.
Json manyEdits(int count, int layers, int heads) {
  Random random(1);
  const auto below = [&](int end) {
    return static_cast<int>(random.uniform() * static_cast<double>(end));
  };
  Json edits = Json::array();
  for (int i = 0; i < count; ++i) {
    const int layer = 1 + below(layers - 1);
    Json edit = {{"layer", layer}};
    if (i % 3 != 0) edit["head"] = below(heads);
    if (i % 5 != 0) edit["source"] = below(layer + 1);
    if (i % 3 == 1 && i % 5 != 0) edit["source_head"] = below(heads);
    edit["scale"] = i % 2 == 0 ? 0.0 : 0.5;
    edits.push_back(std::move(edit));
  }
  return edits;
}

class InterventionsBench {
 public:
  InterventionsBench(const QString& checkpoint, int times, const QSize& size) : times_(times) {
    view_.resize(size);
    view_.show();
    workspace_.open({checkpoint});
    while (!jobs_.isIdle() || layers_.figure() == nullptr) {
      QApplication::processEvents(QEventLoop::AllEvents, 10);
      QThread::msleep(1);
    }
  }

  void run(int edits) {
    const Document& document = *workspace_.documentsOf(DocumentKind::kCheckpoint).front();
    const CheckpointRouters routers(*document.checkpoint);
    const int layers = static_cast<int>(routers.num_layers());
    const int heads = static_cast<int>(routers.num_heads());
    fmt::print("{} layers, {} heads, {} edits, {} x {} pixels\n", layers, heads, edits,
               view_.width(), view_.height());
    view_.setState({{"edits", manyEdits(edits, layers, heads)}});
    const auto cell = [&](int i) {  // of the layer heatmap, the last layer at its bottom
      const int row = 7 * i % (layers - 1);
      return QPointF(11 * i % (layers - row), row);
    };
    const auto weight = [&](int i) { return QPointF(13 * i % heads, 5 * i % heads); };
    time(
        "select a cell", [](int) {}, [&](int i) { sendClick(layers_, cell(i)); });
    for (const char* const scope : {"layer_source", "layer", "source"}) {
      view_.setState({{"scope", scope}});
      time(
          fmt::format("switch off, {}", scope), [&](int i) { sendClick(layers_, cell(i)); },
          [&](int) { sendKey(layers_, Qt::Key_0); });
      timeUndo(scope);
    }
    sendClick(layers_, QPointF(0, 0));
    for (const char* const scope : {"weight", "head_source", "head", "source_head"}) {
      view_.setState({{"scope", scope}});
      time(
          fmt::format("switch off, {}", scope), [&](int i) { sendClick(weights_, weight(i)); },
          [&](int) { sendKey(weights_, Qt::Key_0); });
      timeUndo(scope);
    }
  }

 private:
  void timeUndo(const char* scope) {
    time(
        fmt::format("undo, {}", scope), [](int) {}, [&](int) { undo_.undo(); });
    time(
        fmt::format("redo, {}", scope), [](int) {}, [&](int) { undo_.redo(); });
    while (undo_.canUndo()) undo_.undo();
    QApplication::processEvents();
  }

  /// Runs `prepare`, then times from the event to the last resulting paint.
  void time(const std::string& what, const std::function<void(int)>& prepare,
            const std::function<void(int)>& act) {
    std::vector<double> milliseconds;
    std::vector<double> processor;
    for (int i = 0; i < times_; ++i) {
      prepare(i);
      QApplication::processEvents();
      const int before = painted_.count();
      const double processor_before = processorMilliseconds();
      QElapsedTimer timer;
      timer.start();
      act(i);
      QApplication::processEvents();
      if (painted_.count() == before) continue;  // nothing to undo, or off already
      if (i < kWarmUp) continue;
      milliseconds.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
      processor.push_back(processorMilliseconds() - processor_before);
    }
    if (milliseconds.empty()) throw std::runtime_error(what + ": painted nothing");
    fmt::print(
        "{:<28} median {:6.2f} ms, 99% below {:6.2f} ms; processor {:6.2f} ms, {:6.2f} ms; {} "
        "times\n",
        what, quantile(milliseconds, 0.5), quantile(milliseconds, 0.99), quantile(processor, 0.5),
        quantile(processor, 0.99), milliseconds.size());
  }

  int times_;
  JobRunner jobs_;
  Workspace workspace_{jobs_};
  QUndoStack undo_;
  Preferences preferences_;
  InterventionsView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  FigureView& layers_ = plotCalled(view_, "edited weights between layers");
  FigureView& weights_ = plotCalled(view_, "edited weights of a layer");
  PaintCounter painted_{layers_};
};

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr,
               "usage: lime-bench-interventions CHECKPOINT [EDITS [TIMES [WIDTH HEIGHT]]]\n");
    return 2;
  }
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  lime::explorer::InterventionsBench bench(QString::fromLocal8Bit(argv[1]), number(3, 100),
                                           QSize(number(4, 1040), number(5, 640)));
  bench.run(number(2, 200));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Measures how long the window is blocked: opens documents, walks through all views with keys,
// wheel, hover and clicks, switches themes and sizes, and times every event that the GUI thread
// handles. The window is drawn offscreen.
//   lime-bench-stalls FILE...
#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMetaEnum>
#include <QTimer>
#include <QWheelEvent>
#include <functional>
#include <string>
#include <vector>

#include "explorer/widgets/figure_view.h"
#include "explorer/window/main_window.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer {
namespace {

/// Times the events that the event loop delivers, with all that they cause.
class TimedApplication : public QApplication {
 public:
  using QApplication::QApplication;

  bool notify(QObject* receiver, QEvent* event) override {
    if (depth_ > 0) return QApplication::notify(receiver, event);
    const QEvent::Type type = event->type();
    const std::string name = receiver->metaObject()->className();
    QElapsedTimer timer;
    timer.start();
    ++depth_;
    const bool handled = QApplication::notify(receiver, event);
    --depth_;
    const double milliseconds = 1e-6 * static_cast<double>(timer.nsecsElapsed());
    ++num_events_;
    if (milliseconds > longest_) {
      longest_ = milliseconds;
      what_ = fmt::format("{} of {}", QMetaEnum::fromType<QEvent::Type>().valueToKey(type), name);
    }
    return handled;
  }

  /// Runs `act`, then events until the jobs are done, and prints the longest event.
  void time(const std::string& action, MainWindow& window, const std::function<void()>& act) {
    longest_ = 0.0;
    num_events_ = 0;
    act();
    window.finishJobs();
    processEvents();
    fmt::print("{:<44} {:7.1f} ms, {} ({} events)\n", action, longest_, what_, num_events_);
    longest_of_all_ = std::max(longest_of_all_, longest_);
  }
  double longest_of_all() const { return longest_of_all_; }

 private:
  int depth_ = 0;
  int num_events_ = 0;
  double longest_ = 0.0;
  double longest_of_all_ = 0.0;
  std::string what_;
};

void sendMouse(QWidget& widget, QEvent::Type type, const QPointF& at, Qt::MouseButtons held = {}) {
  QMouseEvent event(type, at, widget.mapToGlobal(at),
                    type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, held, {});
  QApplication::sendEvent(&widget, &event);
  QApplication::processEvents();
}

void sendKey(QWidget& widget, Qt::Key key) {
  QKeyEvent event(QEvent::KeyPress, key, {});
  QApplication::sendEvent(&widget, &event);
  QApplication::processEvents();
}

/// Hovers, clicks, zooms and walks with keys in every visible figure of the current view.
void use(MainWindow& window) {
  for (FigureView* const figure : window.currentView()->findChildren<FigureView*>()) {
    if (!figure->isVisible()) continue;
    const QPointF centre = QRectF(figure->rect()).center();
    for (int step = -8; step <= 8; ++step) {
      sendMouse(*figure, QEvent::MouseMove, centre + QPointF(6 * step, 4 * step));
    }
    sendMouse(*figure, QEvent::MouseButtonPress, centre, Qt::LeftButton);
    sendMouse(*figure, QEvent::MouseButtonRelease, centre);
    for (const int delta : {120, 120, -120, -120}) {
      QWheelEvent wheel(centre, figure->mapToGlobal(centre), {}, {0, delta}, Qt::NoButton, {},
                        Qt::NoScrollPhase, false);
      QApplication::sendEvent(figure, &wheel);
      QApplication::processEvents();
    }
    for (const Qt::Key key : {Qt::Key_Up, Qt::Key_Down, Qt::Key_Left, Qt::Key_Right}) {
      sendKey(*figure, key);
    }
  }
}

void run(TimedApplication& application, const QStringList& files) {
  MainWindow window;
  window.resize(1600, 1000);
  window.show();
  application.processEvents();
  application.time("open", window, [&] { window.workspace().open(files); });
  // From the event loop, so that it counts as one event.
  const auto later = [&](const std::function<void()>& act) {
    return [&window, act] { QTimer::singleShot(0, &window, act); };
  };
  for (const ViewKind& kind : allViews()) {
    const std::string title = kind.title.toStdString();
    application.time("show " + title, window, later([&] { window.showView(kind.id); }));
    application.time("use " + title, window, [&] { use(window); });
    application.time("dark theme in " + title, window,
                     later([&] { window.setTheme(ThemeChoice::kDark); }));
    application.time("narrow window in " + title, window, later([&] { window.resize(1024, 700); }));
    window.setTheme(ThemeChoice::kLight);
    window.resize(1600, 1000);
    window.finishJobs();
  }
  fmt::print("longest: {:.1f} ms\n", application.longest_of_all());
}

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: lime-bench-stalls FILE...\n");
    return 2;
  }
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  lime::explorer::TimedApplication application(argc, argv);
  lime::explorer::run(application, application.arguments().mid(1));
  return 0;
}

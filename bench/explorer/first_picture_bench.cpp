// SPDX-License-Identifier: Apache-2.0
// Measures, for each view in a window of its own, the time from opening documents to the first
// picture of the view, the CPU time of all threads until then, and the longest event of the GUI
// thread. Jobs that refine the picture are cancelled. The window is drawn offscreen.
//   lime-bench-first-picture [--view NAME] FILE...
#include <fmt/format.h>
#include <sys/resource.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QThread>
#include <algorithm>
#include <string>

#include "explorer/embeddings/embedding_canvas.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/window/main_window.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer {
namespace {

constexpr double kPatience = 120.0;  // seconds
constexpr int kRestMs = 2;

/// Times the events that the event loop delivers.
class TimedApplication : public QApplication {
 public:
  using QApplication::QApplication;

  bool notify(QObject* receiver, QEvent* event) override {
    if (depth_ > 0) return QApplication::notify(receiver, event);
    QElapsedTimer timer;
    timer.start();
    ++depth_;
    const bool handled = QApplication::notify(receiver, event);
    --depth_;
    longest_ = std::max(longest_, 1e-6 * static_cast<double>(timer.nsecsElapsed()));
    return handled;
  }
  double longest_ = 0.0;  ///< milliseconds

 private:
  int depth_ = 0;
};

/// Returns the CPU time of all threads so far, in seconds.
double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bool hasPicture(const View& view) {
  const auto figures = view.findChildren<FigureView*>();
  const auto canvases = view.findChildren<EmbeddingCanvas*>();
  return std::ranges::any_of(figures,
                             [](const FigureView* figure) {
                               return figure->isVisible() && figure->figure() != nullptr;
                             }) ||
         std::ranges::any_of(canvases, [](const EmbeddingCanvas* one) { return one->isVisible(); });
}

void measure(TimedApplication& application, const ViewKind& kind, const QStringList& files) {
  MainWindow window;
  window.resize(1600, 1000);
  window.show();
  window.showView(kind.id);
  QApplication::processEvents();
  application.longest_ = 0.0;
  QElapsedTimer timer;
  timer.start();
  const double cpu = cpuSeconds();
  const auto seconds = [&] { return 1e-9 * static_cast<double>(timer.nsecsElapsed()); };
  window.workspace().open(files);
  double opened = 0.0;
  while (seconds() < kPatience) {
    QApplication::processEvents();
    QThread::msleep(kRestMs);  // polling must not take the time of the jobs
    const bool is_open =
        static_cast<qsizetype>(window.workspace().documents().size()) == files.size();
    if (is_open && opened == 0.0) {
      opened = seconds();
      window.showView(kind.id);
      window.currentView()->fill();
    }
    if (is_open && hasPicture(*window.currentView())) break;
    if (is_open && window.jobs().isIdle() && seconds() > opened + 0.5) break;
  }
  QApplication::processEvents();  // paints it
  const std::string result = hasPicture(*window.currentView()) ? fmt::format("{:6.2f} s", seconds())
                                                               : std::string("no picture");
  fmt::print(
      "{:<16} open after {:5.2f} s, first picture after {}, CPU {:5.2f} s, longest event {:5.1f} "
      "ms\n",
      kind.title.toStdString(), opened, result, cpuSeconds() - cpu, application.longest_);
  std::fflush(stdout);
  window.jobs().cancelAll();
}

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: lime-bench-first-picture [--view NAME] FILE...\n");
    return 2;
  }
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  lime::explorer::TimedApplication application(argc, argv);
  QStringList files = application.arguments().mid(1);
  QString view;
  if (files.front() == QLatin1String("--view") && files.size() > 2) {
    view = files[1];
    files = files.mid(2);
  }
  for (const lime::explorer::ViewKind& kind : lime::explorer::allViews()) {
    if (view.isEmpty() || view == kind.id) lime::explorer::measure(application, kind, files);
  }
  return 0;
}

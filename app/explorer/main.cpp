// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QHashSeed>
#include <QStyleFactory>
#include <QTimer>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/json.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "explorer/models/text.h"
#include "explorer/window/main_window.h"
#include "explorer/window/screenshots.h"

namespace lime::explorer {
namespace {

struct ExplorerCommand {
  std::vector<std::filesystem::path> files;
  bool no_session = false;
  std::optional<ThemeChoice> theme;
  std::filesystem::path screenshot;
  std::vector<int> size;
  std::string state;
  bool first_paint = false;

  void describe(OptionList& options) {
    options.add("no_session", no_session, "start without the documents of the last session");
    options.add("theme", theme, "light, dark, or the theme of the desktop; for this session");
    options.group("For documentation and measurements");
    options.add(
        "screenshot", screenshot,
        "write a PNG of every view of the files into this folder, or, without files, of the "
        "start page and its answers, and exit");
    options.add("size", size, "width and height of the window, pixels, e.g. 1024,700");
    options.add(
        "state", state,
        "settings of the views for the screenshots, as JSON: {\"router\": {\"detail\": 1}}");
    options.add("first_paint", first_paint,
                "print the seconds from the start of the process to the first paint, and exit");
  }
};

/// Ends the event loop when all jobs are done and the screenshots are written.
void takeScreenshots(MainWindow& window, const ExplorerCommand& command, std::string& problem) {
  const auto add = [&problem](const std::string& line) {
    problem += (problem.empty() ? "" : "; ") + line;
  };
  QObject::connect(&window.workspace(), &Workspace::openFailed, &window,
                   [add](const QString& message) { add(message.toStdString()); });
  QTimer::singleShot(0, &window, [&window, &command, add] {
    try {
      window.finishJobs();
      if (!command.state.empty()) window.setStates(parse_json(command.state, "state"));
      saveScreenshots(window, toQString(command.screenshot));
    } catch (const std::exception& error) {
      add(error.what());
    }
    QApplication::quit();
  });
}

/// Ends the event loop after the first paint.
class FirstPaint : public QObject {
 public:
  using QObject::QObject;

  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Paint) QTimer::singleShot(0, qApp, &QApplication::quit);
    return QObject::eventFilter(watched, event);
  }
};

/// Throws without a display, where Qt would abort; screenshots need none.
void checkDisplay(const ExplorerCommand& command) {
  if (qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) return;
  if (qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY")) return;
  throw_if<IoError>(command.screenshot.empty(),
                    "display: not available (DISPLAY and WAYLAND_DISPLAY are not set); "
                    "lime-metrics and lime-figure need none");
  qputenv("QT_QPA_PLATFORM", "offscreen");
}

int runExplorer(const ExplorerCommand& command, int& argc, char** argv,
                const QElapsedTimer& start) {
  checkDisplay(command);
  // QCustomPlot lays panels out in the order of a hash table, which would differ from run to run.
  QHashSeed::setDeterministicGlobalSeed();
  QApplication application(argc, argv);
  QApplication::setOrganizationName(u"lime"_s);
  QApplication::setApplicationName(u"lime-explorer"_s);
  QApplication::setDesktopFileName(u"lime-explorer"_s);
  QApplication::setStyle(QStyleFactory::create(u"Fusion"_s));
  MainWindow window;
  if (command.theme) window.setTheme(*command.theme);
  if (command.size.size() == 2) window.resize(command.size[0], command.size[1]);
  const bool is_fresh = command.no_session || !command.screenshot.empty() || command.first_paint;
  if (!is_fresh) {
    window.restoreLayout();
    if (command.files.empty()) window.restoreSession();
  }
  QStringList paths;
  for (const std::filesystem::path& file : command.files) paths << toQString(file);
  window.workspace().open(paths);
  std::string problem;
  if (!command.screenshot.empty()) takeScreenshots(window, command, problem);
  if (command.first_paint) window.installEventFilter(new FirstPaint(&window));
  window.show();
  // Ctrl-C and SIGTERM, which ends a desktop session, close the window.
  const std::stop_callback close(interrupt_token(), [] {
    QMetaObject::invokeMethod(qApp, &QApplication::closeAllWindows, Qt::QueuedConnection);
  });
  QApplication::exec();
  if (command.first_paint) {
    fmt::print("first paint after {:.3f} s\n", static_cast<double>(start.nsecsElapsed()) * 1e-9);
  }
  if (!problem.empty()) throw IoError("{}", problem);
  return interrupt_token().stop_requested() ? kExitInterrupted : kExitDone;
}

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  QElapsedTimer start;
  start.start();
  lime::explorer::ExplorerCommand command;
  lime::CommandLine line("lime-explorer",
                         "Shows checkpoints, captures and results in a graphical interface.");
  line.add_positional(
      "files", command.files,
      "checkpoints (folders or GGUF files), captures, results of lime-metrics, logs of lime-train");
  line.add_options(command);
  line.set_examples(
      "lime-explorer data/aet-lime\n"
      "lime-explorer llama.h5 lime.h5 entropy.json\n"
      "lime-explorer --no-session");
  line.on_run([&] {
    int qt_argc = 1;
    return lime::explorer::runExplorer(command, qt_argc, argv, start);
  });
  return lime::run_program(line, argc, argv);
}

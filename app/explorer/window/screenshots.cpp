// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/screenshots.h"

#include <QCoreApplication>
#include <QDir>

#include "core/errors.h"
#include "explorer/window/main_window.h"
#include "explorer/window/question_card.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer {
namespace {

constexpr int kLayoutPasses = 8;

void save(MainWindow& window, const QString& folder, const QString& name) {
  // Lays out what the last job brought: a widget, then what contains it, and so on.
  for (int i = 0; i < kLayoutPasses; ++i) QCoreApplication::processEvents();
  const QString path = QDir(folder).filePath(name + u".png"_s);
  if (!window.grab().save(path)) throw IoError("'{}': cannot be written", path.toStdString());
}

}  // namespace

void saveScreenshots(MainWindow& window, const QString& folder) {
  if (!QDir().mkpath(folder)) throw IoError("'{}': folder cannot be created", folder.toStdString());
  if (!window.workspace().documents().empty()) {
    for (const ViewKind& kind : allViews()) {
      window.showView(kind.id);
      window.finishJobs();
      save(window, folder, kind.id);
    }
    return;
  }
  save(window, folder, u"start"_s);
  int number = 0;
  for (QuestionCard* const card : window.findChildren<QuestionCard*>()) {
    ++number;
    if (!card->isEnabled()) continue;  // its files are missing
    card->click();
    window.finishJobs();
    save(window, folder, u"question-%1"_s.arg(number));
    window.workspace().closeAll();
    window.finishJobs();
  }
}

}  // namespace lime::explorer

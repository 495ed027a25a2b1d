// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAction>
#include <QDir>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTest>
#include <QUndoStack>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json.h"
#include "explorer/explorer_fixture.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/models/text.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer::testing {

/// The view of a workspace of its own, over a LIMe of three layers and two heads.
class InterventionsViewTest : public WorkspaceTest {
 protected:
  InterventionsViewTest() {
    view_.resize(1040, 640);
    view_.show();
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }

  FigureView& layers() { return childCalled<FigureView>(view_, "edited weights between layers"); }
  FigureView& weights() { return childCalled<FigureView>(view_, "edited weights of a layer"); }
  QPlainTextEdit& text() { return childCalled<QPlainTextEdit>(view_, "input text of the models"); }
  QString note() {
    const auto& label = childCalled<QLabel>(view_, "notes on the results");
    return label.isVisible() ? label.text() : QString();
  }
  QPushButton& button(const QString& text) {
    for (QPushButton* const each : view_.findChildren<QPushButton*>()) {
      if (each->isVisible() && each->text().remove('&') == text) return *each;
    }
    throw std::runtime_error("no button " + text.toStdString());
  }
  QAction& action(const QString& text) {
    for (QAction* const each : view_.actions()) {
      if (each->text() == text) return *each;
    }
    throw std::runtime_error("no action " + text.toStdString());
  }
  /// Rows count from the bottom.
  void click(FigureView& plot, int row, int col) {
    QTest::mouseClick(&plot, Qt::LeftButton, {}, plot.toPixel(0, QPointF(col, row)).toPoint());
  }
  const std::vector<RouterEdit>& edits() const { return view_.edits().edits(); }
  Json lastEdit() const { return router_edits_to_json(edits()).at("edits").back(); }
  bool finishes() {
    return waitUntil([this] { return jobs_.isIdle() && !view_.interventions().isRunning(); });
  }
  /// Writes a program that is called with the arguments of the real one.
  QString script(const std::string& body) {
    const std::filesystem::path path = folder_ / ("child-" + std::to_string(++scripts_) + ".sh");
    lime::testing::write_text(path, "#!/bin/sh\n" + body + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return toQString(path);
  }
  static QStringList temporaryFolders() {
    return QDir::temp().entryList({"lime-interventions-*"}, QDir::Dirs);
  }

  Preferences preferences_{.threads = 1};
  QUndoStack undo_;
  InterventionsView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
  int scripts_ = 0;
};

}  // namespace lime::explorer::testing

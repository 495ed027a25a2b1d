// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

#include "analysis/write_capture.h"
#include "explorer/collapse/collapse_view.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer::testing {

class CollapseViewTest : public WorkspaceTest {
 protected:
  CollapseViewTest() {
    view_.resize(1000, 620);
    view_.show();
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }

  FigureView& plot() { return childCalled<FigureView>(view_, "curves over layers"); }
  FigureView& spectrum() {
    return childCalled<FigureView>(view_, "spectrum of the selected layer");
  }
  QTableView& table() {
    return childCalled<QTableView>(view_, "sequences of lowest and highest entropy");
  }
  QTableView& verdicts() { return childCalled<QTableView>(view_, "verdicts on ranges of layers"); }
  QString verdict(int row, int column) {
    return verdicts().model()->index(row, column).data().toString();
  }
  QString evidence() {
    return childCalled<QPlainTextEdit>(view_, "evidence of the selected verdict").toPlainText();
  }
  const CurvePanel& shownPanel() {
    return std::get<CurvePanel>(plot().figure()->panels.at(0).content);
  }
  QComboBox& box(const QString& name) { return childCalled<QComboBox>(view_, name); }
  /// Returns the position of a curve at `layer`.
  QPoint place(int layer, std::size_t curve = 0) {
    const auto& panel = std::get<CurvePanel>(plot().figure()->panels[0].content);
    return plot()
        .toPixel(0, QPointF(layer, panel.curves[curve].y[static_cast<std::size_t>(layer)]))
        .toPoint();
  }
  void openTwo() {
    captureFile("a.h5");
    lime::testing::write_capture(folder_ / "b.h5", lime::testing::example_capture(7));
    open({toQString(folder_ / "a.h5"), toQString(folder_ / "b.h5")});
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 2; })) << shownTexts();
  }
  /// Writes a capture whose layer 1 has a massive token in each sequence.
  void massiveCapture(const std::string& name) {
    constexpr std::int64_t kTokens = 24;
    lime::testing::SmallCapture capture;
    capture.lengths.assign(20, kTokens);
    for (const int layer : {0, 1}) {
      capture.activations.push_back(
          {"hidden", layer, lime::testing::random_matrix(20 * kTokens, 16, 7)});
    }
    MatrixF& rows = capture.activations.back().rows;
    for (Eigen::Index first = 0; first < rows.rows(); first += kTokens) {
      rows(first, 3) = 500.0F;
    }
    lime::testing::write_capture(folder_ / name, capture);
  }
  std::size_t shownCurves() {
    if (plot().figure() == nullptr) return 0;
    return std::get<CurvePanel>(plot().figure()->panels[0].content).curves.size();
  }
  std::string shownTexts() const {
    QString all;
    for (const QLabel* const label : view_.findChildren<QLabel*>()) {
      all += label->text() + QLatin1Char('\n');
    }
    return all.toStdString();
  }
  void clickLayer(int layer) {
    QTest::mouseClick(&plot(), Qt::LeftButton, {}, place(layer));
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }

  Preferences preferences_;
  QUndoStack undo_;
  CollapseView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
};

}  // namespace lime::explorer::testing

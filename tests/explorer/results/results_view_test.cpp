// SPDX-License-Identifier: Apache-2.0
#include "explorer/results/results_view.h"

#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QTest>
#include <QUndoStack>

#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "store/results_file.h"

namespace lime::explorer::testing {
namespace {

class ResultsViewTest : public WorkspaceTest {
 protected:
  ResultsViewTest() {
    view_.resize(900, 600);
    view_.show();
  }
  QString results(const std::string& name, const std::string& metric, const std::string& text) {
    Results results;
    results.metric = metric;
    results.inputs = {{name + ".h5", std::string(64, '0'), name, text}};
    for (int layer = 0; layer < 3; ++layer) {
      results.rows.push_back({{col::kLabel, name},
                              {col::kSite, "values"},
                              {col::kLayer, layer},
                              {col::kMean, 2.0 + 0.1 * layer},
                              {col::kCiLow, 1.9 + 0.1 * layer},
                              {col::kCiHigh, 2.1 + 0.1 * layer},
                              {col::kAlpha, 0.5},
                              {col::kEffectiveSources, 3.0 + layer},
                              {col::kCeiling, 3.0}});
    }
    write_results(folder_ / (name + ".json"), results);
    return toQString(folder_ / (name + ".json"));
  }
  QComboBox& box(const QString& name) { return childCalled<QComboBox>(view_, name); }

  Preferences preferences_;
  QUndoStack undo_;
  ResultsView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
};

TEST_F(ResultsViewTest, DrawsResultsOfOneTextTogether) {
  open({results("a", "entropy", "one"), results("b", "entropy", "one")});
  ASSERT_TRUE(view_.figure());
  EXPECT_EQ(std::get<CurvePanel>(view_.figure()->panels[0].content).curves.size(), 2U);
}

TEST_F(ResultsViewTest, SaysWhichResultsAreOfDifferentTexts) {
  open({results("a", "entropy", "one"), results("b", "entropy", "another")});
  // The current one is drawn.
  ASSERT_TRUE(view_.figure());
  const std::vector<Curve> curves = std::get<CurvePanel>(view_.figure()->panels[0].content).curves;
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].label, "b");
  const QString said = view_.obstacle(workspace_.documents()[0]);
  EXPECT_EQ(view_.obstacle(workspace_.documents()[1]), "");
  EXPECT_TRUE(said.contains("must be from the same text")) << said.toStdString();
  EXPECT_FALSE(said.contains("--")) << said.toStdString();
}

TEST_F(ResultsViewTest, DrawsTheDocumentsAndModelsThatAreChecked) {
  open({results("a", "entropy", "one"), results("b", "entropy", "one")});
  const auto labels = [this] {
    std::string all;
    const std::optional<Figure> figure = view_.figure();
    for (const Curve& curve : std::get<CurvePanel>(figure->panels[0].content).curves) {
      all += curve.label;
    }
    return all;
  };
  const QList<CheckMenu*> menus = view_.findChildren<CheckMenu*>();
  ASSERT_EQ(menus.size(), 3);
  EXPECT_EQ(labels(), "ab");
  menus[1]->menu()->actions().at(0)->trigger();
  EXPECT_EQ(labels(), "b");
  EXPECT_TRUE(view_.commandLines().at(0).contains("--label b"));
  undo_.undo();
  EXPECT_EQ(labels(), "ab");
  menus[0]->menu()->actions().at(1)->trigger();
  EXPECT_EQ(labels(), "a");
  EXPECT_FALSE(view_.commandLines().at(0).contains("b.json"));
}

TEST_F(ResultsViewTest, UndoTakesBackTheMetric) {
  open({results("a", "entropy", "one"), results("b", "geometry", "one")});
  QComboBox& metric = box("Metric");
  ASSERT_EQ(metric.currentText(), "geometry");
  metric.setCurrentText("entropy");
  Q_EMIT metric.activated(metric.currentIndex());
  ASSERT_EQ(undo_.count(), 1);
  undo_.undo();
  EXPECT_EQ(metric.currentText(), "geometry");
  undo_.redo();
  EXPECT_EQ(metric.currentText(), "entropy");
}

}  // namespace
}  // namespace lime::explorer::testing

// SPDX-License-Identifier: Apache-2.0
// Tests of the embeddings view that use the keyboard only.
#include <QAction>
#include <QApplication>
#include <QSet>
#include <QSlider>
#include <QTableView>

#include "explorer/embeddings/embeddings_fixture.h"

namespace lime::explorer::testing {
namespace {

using EmbeddingsKeysTest = EmbeddingsViewTest;

TEST_F(EmbeddingsKeysTest, KeysDoAllThatTheMouseDoes) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  ASSERT_NO_FATAL_FAILURE(focus(0));
  QTest::keyClick(&canvas(0), Qt::Key_Space);
  EXPECT_TRUE(canvas(0).selected().empty()) << "no point has been reached";
  QTest::keyClick(&canvas(0), Qt::Key_Right);
  const int point = canvas(0).cursor();
  ASSERT_GE(point, 0);
  EXPECT_TRUE(status_.contains("sequence")) << status_.toStdString();
  EXPECT_EQ(canvas(0).accessibleDescription(), status_);
  QTest::keyClick(&canvas(0), Qt::Key_Space);
  EXPECT_EQ(canvas(0).selected(), std::vector<int>{point});
  EXPECT_EQ(canvas(1).selected(), std::vector<int>{point});
  EXPECT_TRUE(canvas(0).accessibleDescription().startsWith("selected: "));
  QTest::keyClick(&canvas(0), Qt::Key_Space);
  EXPECT_TRUE(canvas(0).selected().empty());
  // Along the way all are selected.
  for (const Qt::Key key : {Qt::Key_Left, Qt::Key_Up, Qt::Key_Right, Qt::Key_Down}) {
    QTest::keyClick(&canvas(0), key, Qt::ShiftModifier);
  }
  EXPECT_GE(canvas(0).selected().size(), 2U);
  QTest::keyClick(&canvas(0), Qt::Key_Return);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(view_.tokens().rowCount(), 12);
  QTest::keyClick(&canvas(0), Qt::Key_Escape);
  EXPECT_EQ(view_.tokens().rowCount(), 0);
}

TEST_F(EmbeddingsKeysTest, TabReachesEveryEmbeddingAndTheListAndLeavesThem) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  ASSERT_NO_FATAL_FAILURE(focus(0));
  QSet<QWidget*> reached;
  for (int presses = 0; presses < 20; ++presses) {
    ASSERT_NE(QApplication::focusWidget(), nullptr) << "the focus is lost";
    reached.insert(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  EXPECT_TRUE(reached.contains(&canvas(0)) && reached.contains(&canvas(1)));
  EXPECT_TRUE(reached.contains(view_.findChild<QTableView*>()));
  EXPECT_TRUE(reached.contains(view_.findChild<QSlider*>()));
  EXPECT_EQ(canvas(1).accessibleName(), "b, layer 0");
}

TEST_F(EmbeddingsKeysTest, EnterInTheListShowsTheNeighboursOfItsToken) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  lasso(0, QRectF(canvas(0).rect()).adjusted(2, 2, -2, -2));
  auto& list = *view_.findChild<QTableView*>();
  view_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&view_));
  list.setFocus();
  list.setCurrentIndex(list.model()->index(3, 0));
  QTest::keyClick(&list, Qt::Key_Return);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(view_.tokens().rowCount(), 12);
}

TEST_F(EmbeddingsKeysTest, CtrlASelectsWhatIsSeen) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  ASSERT_NO_FATAL_FAILURE(focus(1));
  QTest::keyClick(&canvas(1), Qt::Key_A, Qt::ControlModifier);
  EXPECT_EQ(canvas(1).selected().size(), 16U);
  QTest::keyClick(&canvas(1), Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(canvas(1).selected().empty());
  QTest::keyClick(&canvas(1), Qt::Key_Right);
  view_.zoom(30.0);
  const std::vector<int> seen = canvas(1).visiblePoints();
  ASSERT_FALSE(seen.empty());
  ASSERT_LT(seen.size(), 16U);
  QTest::keyClick(&canvas(1), Qt::Key_A, Qt::ControlModifier);
  EXPECT_EQ(canvas(1).selected(), seen);
}

TEST_F(EmbeddingsKeysTest, EveryKeyOfAPointIsInTheMenu) {
  QSet<QString> keys;
  for (const QAction* const action : view_.actions()) {
    for (const QKeySequence& key : action->shortcuts()) {
      EXPECT_FALSE(keys.contains(key.toString())) << key.toString().toStdString();
      keys.insert(key.toString());
    }
  }
  for (const char* const key : {"Ctrl+A", "Ctrl+Shift+A", "Esc", "Space", "Return", "Enter"}) {
    EXPECT_TRUE(keys.contains(key)) << key;
  }
}

}  // namespace
}  // namespace lime::explorer::testing

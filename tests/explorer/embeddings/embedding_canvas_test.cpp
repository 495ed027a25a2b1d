// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_canvas.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>
#include <vector>

#include "explorer/embeddings/token_list.h"
#include "explorer/models/token_in_sentence.h"

namespace lime::explorer::testing {
namespace {

TEST(SelectedTokensModelTest, IsAProperModel) {
  SelectedTokensModel model;
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setTokens({{.point = 1, .token = "is", .note = {}, .sentence = {"it ", "is", " so"}}},
                  "Class");
  EXPECT_EQ(model.index(0, SelectedTokensModel::kSentence).data().toString(), "it is so");
  EXPECT_EQ(model.index(0, 0).data(kSentenceRole).value<TokenInSentence>().token, "is");
  model.setTokens({}, "Class");
}

TEST(EmbeddingCanvasTest, KeysWalkFromPointToPointAndSelect) {
  EmbeddingCanvas canvas;
  canvas.resize(400, 400);
  canvas.setPoints(MatrixF{{-1.0F, 0.0F}, {0.0F, 0.0F}, {1.0F, 0.0F}, {0.0F, 1.0F}},
                   QRectF(-1, -1, 2, 2));
  QSignalSpy lassoed(&canvas, &EmbeddingCanvas::lassoed);
  QTest::keyClick(&canvas, Qt::Key_Right);
  EXPECT_EQ(canvas.cursor(), 1) << "the one in the middle";
  QTest::keyClick(&canvas, Qt::Key_Right);
  EXPECT_EQ(canvas.cursor(), 2);
  QTest::keyClick(&canvas, Qt::Key_Right);
  EXPECT_EQ(canvas.cursor(), 2) << "there is none further right";
  QTest::keyClick(&canvas, Qt::Key_Left);
  QTest::keyClick(&canvas, Qt::Key_Up);
  EXPECT_EQ(canvas.cursor(), 3);
  EXPECT_EQ(lassoed.count(), 0);
  QTest::keyClick(&canvas, Qt::Key_Down, Qt::ShiftModifier);
  ASSERT_EQ(lassoed.count(), 1);
  EXPECT_EQ(lassoed.front().front().value<std::vector<int>>(), (std::vector<int>{3, 1}))
      << "from where to where";
  const QPointF before = canvas.toPixel(1);
  QTest::keyClick(&canvas, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_LT(canvas.toPixel(1).x(), before.x());
}

TEST(EmbeddingCanvasTest, APointThatKeysReachIsBroughtIntoSight) {
  EmbeddingCanvas canvas;
  canvas.resize(400, 400);
  canvas.setPoints(MatrixF{{-1.0F, 0.0F}, {0.0F, 0.0F}, {1.0F, 0.0F}}, QRectF(-1, -1, 2, 2));
  QTest::keyClick(&canvas, Qt::Key_Right);
  canvas.zoom(20.0);
  EXPECT_NEAR(canvas.toPixel(1).x(), 200.0, 1e-6) << "about the point that was reached";
  EXPECT_EQ(canvas.visiblePoints(), std::vector<int>{1});
  QTest::keyClick(&canvas, Qt::Key_Right);
  EXPECT_TRUE(QRectF(canvas.rect()).contains(canvas.toPixel(2)));
  EXPECT_EQ(canvas.visiblePoints(), std::vector<int>{2});
}

TEST(EmbeddingCanvasTest, ThePointerAndKeysHaveOneMarker) {
  EmbeddingCanvas canvas;
  canvas.resize(400, 400);
  canvas.setPoints(MatrixF{{-1.0F, 0.0F}, {0.0F, 0.0F}, {1.0F, 0.0F}}, QRectF(-1, -1, 2, 2));
  canvas.show();
  QTest::mouseMove(&canvas, canvas.toPixel(0).toPoint());
  EXPECT_EQ(canvas.cursor(), 0);
  QTest::keyClick(&canvas, Qt::Key_Right);
  EXPECT_EQ(canvas.cursor(), 1) << "keys go on from the pointer";
}

TEST(EmbeddingCanvasTest, ZoomKeepsThePointUnderTheMouse) {
  EmbeddingCanvas canvas;
  canvas.resize(400, 300);
  canvas.setPoints(MatrixF{{-1.0F, 0.0F}, {0.5F, 0.25F}, {1.0F, 1.0F}}, QRectF(-1, -1, 2, 2));
  const QPointF before = canvas.toPixel(1);
  canvas.zoomAt(before, 3.0, {});
  EXPECT_NEAR(canvas.toPixel(1).x(), before.x(), 1e-6);
  EXPECT_NEAR(canvas.toPixel(1).y(), before.y(), 1e-6);
  EXPECT_EQ(canvas.nearestPoint(before), 1);
  canvas.showAll();
  EXPECT_NEAR(canvas.toPixel(1).x(), before.x(), 1e-6);
}

}  // namespace
}  // namespace lime::explorer::testing

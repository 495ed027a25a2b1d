// SPDX-License-Identifier: Apache-2.0
// Answers the questions of docs/explorer.md, "Three questions", from the start page with
// checkpoints and a text, by mouse clicks alone, and counts them. Dropping files onto the window is
// a click too.
#include <QApplication>
#include <QDir>
#include <QDropEvent>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTest>
#include <QTimer>

#include "checkpoint/model_config.h"
#include "explorer/capture/capture_dialog.h"
#include "explorer/explorer_fixture.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/main_window.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

class ClicksTest : public WorkspaceTest {
 protected:
  ClicksTest() {
    QSettings().clear();
    std::string lines;
    for (int i = 0; i < 40; ++i) lines += i % 2 == 0 ? "the cat is here\n" : "the dogs are there\n";
    lime::testing::write_text(folder_ / "text.txt", lines);
    lime::testing::write_tiny_checkpoint(folder_ / "llama", lime::testing::tiny_config("llama"));
    QDir::setCurrent(toQString(folder_.path()));  // captures are written here
    window_.resize(1280, 720);
    window_.show();
  }
  ~ClicksTest() override { QDir::setCurrent(before_); }

  bool finishes() {
    return waitUntil([&] {
      auto* const view = window_.findChild<InterventionsView*>();
      return window_.jobs().isIdle() && !view->interventions().isRunning();
    });
  }
  void click(QWidget& widget, const QPoint& at) {
    ++clicks_;
    QTest::mouseClick(&widget, Qt::LeftButton, {}, at);
    ASSERT_TRUE(finishes());
  }
  void drop(const std::vector<std::string>& names) {
    ++clicks_;
    QMimeData data;
    QList<QUrl> urls;
    for (const std::string& name : names) {
      urls << QUrl::fromLocalFile(toQString(folder_ / name));
    }
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(100, 100), Qt::CopyAction, &data, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&window_, &enter);
    QDropEvent event(QPointF(100, 100), Qt::CopyAction, &data, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&window_, &event);
    ASSERT_TRUE(finishes());
  }
  void clickButton(const QWidget& parent, const QString& text) {
    for (QPushButton* const button : parent.findChildren<QPushButton*>()) {
      if (!button->isVisible() || button->text().remove('&') != text) continue;
      return click(*button, button->rect().center());
    }
    FAIL() << "no button " << text.toStdString();
  }
  void clickView(const QString& title) {
    auto& views = childCalled<QListWidget>(window_, "views");
    const QListWidgetItem* const item = views.findItems(title, Qt::MatchExactly).at(0);
    click(*views.viewport(), views.visualItemRect(item).center());
  }
  /// Clicks the only link of a label, which is somewhere in its first line.
  void clickLink(QLabel& label) {
    bool is_hit = false;
    const auto heard = QObject::connect(&label, &QLabel::linkActivated, [&] { is_hit = true; });
    ++clicks_;
    for (int x = 0; x < label.width() && !is_hit; x += 4) {
      QTest::mouseClick(&label, Qt::LeftButton, {}, QPoint(x, label.height() / 2));
    }
    QObject::disconnect(heard);
    ASSERT_TRUE(is_hit && finishes());
  }

  const QString before_ = QDir::currentPath();
  MainWindow window_;
  int clicks_ = 0;
};

TEST_F(ClicksTest, WhichLayersReadTheEmbeddingsAgainNeedsOne) {
  checkpointFolder("lime");
  drop({"lime"});
  EXPECT_EQ(clicks_, 1);
  EXPECT_EQ(window_.currentView()->title(), "Router");
  auto& plot =
      childCalled<FigureView>(window_, "fraction of each layer's weight on the embeddings");
  ASSERT_NE(plot.figure(), nullptr);
  EXPECT_EQ(plot.figure()->panels[0].x.label, "layer");
}

TEST_F(ClicksTest, WhereAModelCollapsesAndWhetherItMattersNeedsFour) {
  checkpointFolder("lime");
  drop({"llama", "lime", "text.txt"});
  QTimer::singleShot(0, &window_, [this] {
    auto* const dialog = qobject_cast<CaptureDialog*>(QApplication::activeModalWidget());
    ASSERT_NE(dialog, nullptr);
    clickButton(*dialog, "Capture");
    EXPECT_EQ(dialog->problem().toStdString(), "");
    if (dialog->isVisible()) dialog->reject();
  });
  clickButton(*window_.findChild<NoticeBar*>(), "Capture...");
  EXPECT_EQ(window_.currentView()->title(), "Collapse");
  ASSERT_TRUE(window_.currentView()->figure());
  const Figure entropies = *window_.currentView()->figure();
  EXPECT_EQ(std::get<CurvePanel>(entropies.panels[0].content).curves.size(), 2U) << "both models";
  for (QLabel* const label : window_.currentView()->findChildren<QLabel*>()) {
    if (label->isVisible() && label->text().contains("probes</a>")) clickLink(*label);
  }
  EXPECT_EQ(clicks_, 4);
  EXPECT_EQ(window_.currentView()->title(), "Probes");
  ASSERT_TRUE(window_.currentView()->figure());
  const Figure accuracies = *window_.currentView()->figure();
  EXPECT_EQ(std::get<CurvePanel>(accuracies.panels[0].content).curves.size(), 2U);
}

TEST_F(ClicksTest, WhatHappensWithoutARouteNeedsFour) {
  checkpointFolder("lime");
  drop({"lime", "text.txt"});
  clickView("Interventions");
  auto& layers = childCalled<FigureView>(window_, "edited weights between layers");
  click(layers, layers.toPixel(0, QPointF(1, 0)).toPoint());
  clickButton(*window_.currentView(), "Ablate");
  auto* const view = window_.findChild<InterventionsView*>();
  ASSERT_TRUE(waitUntil([&] { return view->interventions().score().has_value(); }));
  ASSERT_TRUE(finishes());
  EXPECT_EQ(clicks_, 4);
  EXPECT_EQ(view->edits().edits().size(), 1U);
  EXPECT_EQ(view->interventions().score()->lines.size(), 40U);
  EXPECT_NE(view->interventions().score()->after, view->interventions().score()->before);
}

}  // namespace
}  // namespace lime::explorer::testing

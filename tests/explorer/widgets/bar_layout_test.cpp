// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/bar_layout.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>
#include <QSlider>

#include "explorer/models/text.h"

namespace lime::explorer::testing {
namespace {

class BarLayoutTest : public ::testing::Test {
 protected:
  BarLayoutTest() : layout_(new BarLayout(bar_)) {
    layout_->setContentsMargins(0, 0, 0, 0);
    layout_->setSpacing(10);
  }
  /// Adds a button with a label that names it.
  QPushButton* add(QLabel*& label) {
    auto* const button = new QPushButton;
    button->setFixedSize(100, 30);
    label = new QLabel;
    label->setFixedSize(50, 20);
    label->setBuddy(button);
    layout_->addWidget(label);
    layout_->addWidget(button);
    return button;
  }
  void resize(int width) {
    bar_.resize(width, layout_->heightForWidth(width));
    layout_->activate();
    layout_->setGeometry(bar_.rect());
  }

  QWidget bar_;
  BarLayout* layout_;
};

TEST_F(BarLayoutTest, WrapsWhereOneLineIsTooNarrowAndKeepsLabelsWithTheirControls) {
  QLabel* first_label = nullptr;
  QLabel* second_label = nullptr;
  const QPushButton* const first = add(first_label);
  const QPushButton* const second = add(second_label);
  bar_.show();
  EXPECT_EQ(layout_->minimumSize().width(), 160);
  resize(330);
  EXPECT_EQ(second->geometry(), QRect(230, 0, 100, 30));
  EXPECT_EQ(second_label->y(), 5) << "in the middle of the line";
  resize(329);
  EXPECT_EQ(layout_->heightForWidth(329), 2 * 30 + 6);
  EXPECT_EQ(first->y(), 0);
  EXPECT_EQ(second->geometry(), QRect(60, 36, 100, 30));
  EXPECT_EQ(second_label->x(), 0);
  resize(160);
  EXPECT_EQ(second->geometry().right(), 159);
}

TEST_F(BarLayoutTest, WhatIsBehindTheStretchIsAtTheRight) {
  QLabel* label = nullptr;
  add(label);
  layout_->addStretch();
  auto* const before = new QPushButton;
  auto* const last = new QPushButton;
  for (QPushButton* const button : {before, last}) {
    button->setFixedSize(40, 30);
    layout_->addWidget(button);
  }
  bar_.show();
  resize(400);
  EXPECT_EQ(before->geometry(), QRect(310, 0, 40, 30));
  EXPECT_EQ(last->geometry(), QRect(360, 0, 40, 30));
  last->hide();
  before->hide();
  EXPECT_EQ(layout_->minimumSize().width(), 160);
}

TEST_F(BarLayoutTest, ASliderHasTheRestOfTheLine) {
  QLabel* label = nullptr;
  add(label);
  auto* const slider = new QSlider(Qt::Horizontal);
  slider->setMinimumWidth(60);
  layout_->addWidget(slider);
  bar_.show();
  resize(500);
  EXPECT_EQ(slider->geometry().left(), 170);
  EXPECT_EQ(slider->geometry().right(), 499);
}

}  // namespace
}  // namespace lime::explorer::testing

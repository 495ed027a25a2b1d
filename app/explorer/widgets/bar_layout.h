// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLayout>
#include <QLayoutItem>
#include <QRect>
#include <QSize>
#include <memory>
#include <vector>

class QWidget;

namespace lime::explorer {

/// Lays out the controls above a view from left to right, on further lines where one is too narrow.
///
/// A label stays with the control that it names (QLabel::buddy()). What follows addStretch() is at
/// the right end of the line. Controls of variable width share the rest of their line.
class BarLayout : public QLayout {
 public:
  BarLayout() = default;  ///< to be added to another layout
  /// Becomes the layout of `bar`.
  explicit BarLayout(QWidget& bar);
  ~BarLayout() override;

  void addStretch();

  void addItem(QLayoutItem* item) override;
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  /// Controls that stay together, side by side.
  struct Group {
    std::vector<QLayoutItem*> items;
    int width = 0;  ///< that it is given where there is room
    int least = 0;
    bool is_after_stretch = false;
  };
  struct Line {
    std::vector<Group> groups;
    int width = 0;
    int height = 0;
  };

  std::vector<Group> groups() const;
  std::vector<Line> lines(int width) const;
  /// Places the items of a line. @param top  of the line
  void place(const Line& line, const QRect& rect, int top) const;

  std::vector<std::unique_ptr<QLayoutItem>> items_;
};

}  // namespace lime::explorer

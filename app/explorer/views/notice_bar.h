// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

class QLabel;

namespace lime::explorer {

/// A line above the view that says what went wrong, until it is closed or the next one comes. Does
/// not take the focus.
class NoticeBar : public QFrame {
  Q_OBJECT

 public:
  explicit NoticeBar(QWidget* parent = nullptr);

  void showText(const QString& text);
  QString text() const;

 private:
  QLabel* text_;
};

}  // namespace lime::explorer

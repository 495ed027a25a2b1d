// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>
#include <QLabel>
#include <functional>

class QPushButton;

namespace lime::explorer {

/// Shows an error above the view until the user closes it or the next one comes. Does not take the
/// focus.
class NoticeBar : public QFrame {
  Q_OBJECT

 public:
  NoticeBar();

  /// Shows a text, with a button for the remedy if there is one.
  void showText(const QString& text, const QString& remedy = {}, std::function<void()> action = {});
  QString text() const { return text_->text(); }

 private:
  QLabel* text_;
  QPushButton* remedy_;
  std::function<void()> action_;
};

}  // namespace lime::explorer

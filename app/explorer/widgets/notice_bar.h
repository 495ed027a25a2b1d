// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>
#include <QLabel>
#include <QString>
#include <functional>
#include <optional>

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
  /// Shows a text about the file of a document.
  void showDocument(int id, const QString& text);
  const QString& text() const { return whole_; }
  /// Returns the document that the last text is about; nothing if it is about none.
  std::optional<int> document() const { return document_; }

 private:
  QString whole_;  ///< the text without places to break it
  QLabel* text_;
  QPushButton* remedy_;
  std::function<void()> action_;
  std::optional<int> document_;
};

}  // namespace lime::explorer

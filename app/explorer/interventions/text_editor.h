// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>
#include <optional>

#include "explorer/interventions/intervention_tables.h"

class QPlainTextEdit;
class QStackedWidget;
class QTabBar;
class QTableView;

namespace lime::explorer {

/// Edits the text that is run, and lists its lines with their losses.
class TextEditor : public QWidget {
  Q_OBJECT

 public:
  explicit TextEditor(QWidget* parent = nullptr);

  QString text() const;
  void setText(const QString& text);
  /// Returns the lines that are not blank.
  QStringList lines() const;
  /// Returns the number of the line of the cursor, among those that are not blank.
  int cursorLine() const;
  void setScores(const std::vector<LineScore>& scores, int current_line);

 Q_SIGNALS:
  /// The user typed, and left the text.
  void textTyped();
  void lineSelected(int line);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  // The text may be long, and is read at every edit.
  mutable std::optional<QString> plain_text_;
  mutable std::optional<QStringList> plain_lines_;
  ScoredLines scores_;
  QPlainTextEdit* text_;
  QTableView* table_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

#include "explorer/interventions/model_outputs.h"
#include "explorer/interventions/scored_lines.h"

class QPlainTextEdit;
class QTabBar;
class QTextEdit;

class QEvent;
class QTableView;

namespace lime::explorer {

/// Reads a text file. @throws InvalidArgument  if it is larger than 4 MiB. @throws IoError
QString readText(const QString& path);

/// Edits the text that is run and the second one, and lists its lines with their losses.
class TextEditor : public QWidget {
  Q_OBJECT

 public:
  TextEditor();

  QString text() const;
  void setText(const QString& text);
  /// Sets the file that contains the text.
  void setFile(const QString& path) { file_ = path; }
  /// Returns it; empty if the text is not as in the file.
  QString file() const;
  /// Returns the lines that are not blank.
  QStringList lines() const;
  /// Returns the second text, whose activations patches take, and its lines that are not blank.
  QString secondText() const;
  void setSecondText(const QString& text);
  QStringList secondLines() const;
  /// Shows the second text, ready for typing.
  void showSecondText();
  /// Returns the number of the line of the cursor, among those that are not blank.
  int cursorLine() const;
  void setScores(const std::vector<LineScore>& scores, int current_line);
  /// Shows what both models generate after a line; nothing while one of them is not known.
  void setGenerated(const QString& prompt, const LineReading* before, const LineReading* after);

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
  QString file_;
  ScoredLines scores_;
  QPlainTextEdit* text_;
  QPlainTextEdit* second_;
  QTabBar* tabs_;
  QTableView* table_;
  QTextEdit* generated_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/interventions/intervention_run.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/controls.h"
#include "viz/figure.h"

class QCheckBox;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QTextEdit;
class QToolButton;

namespace lime::explorer {

class FigurePane;

/// The controls of a run: the number of lines, start and stop, and the progress.
class RunBar : public QWidget {
  Q_OBJECT

 public:
  RunBar();

  int maxLines() const;  ///< 0: all
  void setMaxLines(int count);
  /// Returns the options of lime-capture that select the tokens of the loss.
  QStringList score() const;
  std::pair<int, QString> scored() const;  ///< index of the choice, and its text
  void setScored(int choice, const QString& text);
  bool runsLive() const;
  void setRunsLive(bool live);
  void setRunnable(bool runnable);
  void showProgress(const InterventionRun& run);

 Q_SIGNALS:
  /// The user pressed Run, or Stop during a run.
  void runRequested();
  void fileRequested();
  /// A control changed; `what` names it for undo.
  void settingChanged(const QString& what);

 private:
  QPushButton* run_;
  QComboBox* max_lines_;
  QComboBox* scored_;
  QLineEdit* scored_text_;
  QCheckBox* live_;
  QWidget* under_way_;  ///< visible during a run
  QLabel* step_;
  QProgressBar* progress_;
};

/// Lists the lines of a text with their losses, the most changed first.
class ScoredLines : public TableModel<LineScore> {
 public:
  enum Column { kLine, kBefore, kAfter, kChange, kText, kColumns };

  ScoredLines();

  void setScores(std::vector<LineScore> lines);
  int rowOfLine(int line) const;  ///< -1: none
};

/// Reads a text file. @throws InvalidArgument  if it is larger than 4 MiB. @throws IoError
QString readText(const QString& path);

/// Edits the text that is run, and lists its lines with their losses.
class TextEditor : public QWidget {
  Q_OBJECT

 public:
  TextEditor();

  QString text() const;
  void setText(const QString& text);
  /// Returns the lines that are not blank.
  QStringList lines() const;
  /// Returns the number of the line of the cursor, among those that are not blank.
  int cursorLine() const;
  void setScores(const std::vector<LineScore>& scores, int current_line);
  /// Shows what both models generate after a line; nothing while one of them is not known.
  void setGenerated(const LineReading* before, const LineReading* after);

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
  QTextEdit* generated_;
};

/// Returns the tokens of a line, and a place for the next one. Their colour is the loss that the
/// edits cause: orange where the token became less likely, blue where more.
/// @param after  empty while it is not known
std::vector<TextToken> scoredTokens(const LineReading& before, const LineReading& after);

/// Shows the tokens of a line, coloured by the loss that the edits cause, and draws the predictions
/// in place of the selected token into a pane.
class LineTokens : public QWidget {
  Q_OBJECT

 public:
  /// @param next  draws the predictions
  explicit LineTokens(FigurePane& next);

  void show(const InterventionRun& run);

 Q_SIGNALS:
  void lineRequested(int line);
  void status(const QString& text);

 private:
  void drawNext();
  QString describeNext(const FigureHit& hit) const;

  LineReading original_;
  LineReading edited_;
  int line_ = 0;
  FigurePane& next_;
  QLabel* title_;
  QToolButton* previous_line_;
  QToolButton* next_line_;
  TokenText* list_;
};

}  // namespace lime::explorer

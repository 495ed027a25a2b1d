// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/interventions/intervention_result.h"
#include "explorer/models/table_model.h"
#include "explorer/widgets/controls.h"
#include "viz/figure.h"

class QCheckBox;
class QListView;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace lime::explorer {

class FigurePane;
class InterventionRun;

/// The controls of a run: the number of lines, start and stop, and the progress.
class RunBar : public QWidget {
  Q_OBJECT

 public:
  RunBar();

  int maxLines() const;  ///< 0: all
  void setMaxLines(int count);
  bool runsLive() const;
  void setRunsLive(bool live);
  void setRunnable(bool runnable);
  void showProgress(const InterventionRun& run);

 Q_SIGNALS:
  void runRequested();
  void stopRequested();
  void fileRequested();
  /// A control changed; `what` names it for undo.
  void settingChanged(const QString& what);

 private:
  bool is_running_ = false;
  QPushButton* run_;
  QComboBox* max_lines_;
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

/// A token of a line with its log-probability in either model, where that is known.
struct ScoredToken {
  QString text;
  std::optional<double> before = {};
  std::optional<double> after = {};
};

/// Lists the tokens of a line. The background is the loss that the edits cause: orange where the
/// token became less likely, blue where more. A place for the next token follows them.
class ScoredTokens : public TableModel<ScoredToken> {
 public:
  ScoredTokens();

  /// @param after  empty while it is not known
  void setReadings(const LineReading& before, const LineReading& after);

  /// Returns "'·is': original probability 93.1 %, edited 2.0 %; the edits cost 3.84 nats".
  QString describe(int row) const;

 private:
  QVariant further(const ScoredToken& token, int role) const;

  double largest_ = 1.0;  ///< change that has the fullest colour, nats
};

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
  ScoredTokens model_;
  FigurePane& next_;
  QLabel* title_;
  QToolButton* previous_line_;
  QToolButton* next_line_;
  QListView* list_;
};

}  // namespace lime::explorer

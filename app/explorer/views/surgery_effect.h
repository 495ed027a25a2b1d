// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

#include "explorer/models/preferences.h"
#include "explorer/models/surgery_tables.h"
#include "viz/figure_hit.h"

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QListView;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabBar;
class QTableView;
class QToolButton;

namespace lime::explorer {

class FigurePane;
class SurgeryRun;

/// The right side of route surgery: the text, and what the model makes of it before and after the
/// edits. Changes nothing itself: it says what is wanted.
class SurgeryEffect : public QWidget {
  Q_OBJECT

 public:
  explicit SurgeryEffect(QWidget* parent = nullptr);

  QString text() const;
  void setText(const QString& text);
  /// The lines of the text that are no blanks, as many as are to be run, and which of them the
  /// cursor is in.
  QStringList lines() const;
  int cursorLine() const;

  /// How many lines are run at most; 0: all.
  int maxLines() const;
  void setMaxLines(int count);
  bool runsLive() const;
  void setRunsLive(bool live);
  QString site() const;
  void setSite(const QString& site);

  /// Draws what is known. @param note  what a person should know first; may be empty
  void showRun(const SurgeryRun& run, const QString& note, const Preferences& preferences);
  /// Draws how far it has come, or what a person should know first, and nothing else.
  void showProgress(const SurgeryRun& run);
  void showNote(const QString& note);
  void setRunnable(bool runnable);

  FigurePane& next() { return *next_; }
  FigurePane& entropies() { return *entropies_; }

 Q_SIGNALS:
  void runWanted();
  void stopWanted();
  void fileWanted();
  /// A person has typed, and went on to something else.
  void textTyped();
  /// Which lines are run, or how: something of state() changed by a control.
  void choiceChanged(const QString& what);
  void lineWanted(int line);
  void status(const QString& text);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeText();
  QWidget* makeRunBar();
  QWidget* makeScores();
  QWidget* makeLine();
  QWidget* makeFigures();
  void connectAll();
  void showScore(const SurgeryRun& run);
  void showReadings(const SurgeryRun& run);
  void showEntropies(const SurgeryRun& run);
  void showNext();
  void describeNext(const FigureHit& hit);
  void describeEntropies(const FigureHit& hit);

  /// One number before and after.
  struct Card {
    QLabel* values = nullptr;
    QLabel* change = nullptr;
  };
  Card addCard(QGridLayout& grid, int column, const QString& title, const QString& toolTip);

  Preferences preferences_;
  // What was made of the text since it changed: it may be long, and is asked for at every edit.
  mutable std::optional<QString> plain_text_;
  mutable std::optional<QStringList> plain_lines_;
  LineReading before_;  ///< of the line that is shown
  LineReading after_;
  bool is_running_ = false;
  int line_ = 0;
  int num_lines_ = 0;
  SurgeryTokens tokens_;
  SurgeryLines lines_;
  QTabBar* tabs_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  QPlainTextEdit* text_ = nullptr;
  QTableView* table_ = nullptr;
  QPushButton* run_ = nullptr;
  QPushButton* file_ = nullptr;
  QComboBox* max_lines_ = nullptr;
  QCheckBox* live_ = nullptr;
  QWidget* under_way_ = nullptr;  ///< seen while it runs
  QLabel* step_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* note_ = nullptr;
  Card loss_;
  Card perplexity_;
  Card likelihood_;
  QLabel* line_title_ = nullptr;
  QToolButton* line_before_ = nullptr;
  QToolButton* line_after_ = nullptr;
  QListView* token_list_ = nullptr;
  QComboBox* site_ = nullptr;
  FigurePane* next_ = nullptr;
  FigurePane* entropies_ = nullptr;
};

}  // namespace lime::explorer

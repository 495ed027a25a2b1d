// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "explorer/interventions/intervention_tables.h"
#include "viz/figure_hit.h"

class QLabel;
class QListView;
class QToolButton;

namespace lime::explorer {

class FigurePane;
class InterventionRun;

/// Shows the tokens of a line, coloured by the loss that the edits cause, and draws the predictions
/// in place of the selected token into a pane.
class LineTokens : public QWidget {
  Q_OBJECT

 public:
  /// @param next  draws the predictions
  explicit LineTokens(FigurePane& next, QWidget* parent = nullptr);

  void show(const InterventionRun& run);

 Q_SIGNALS:
  void lineRequested(int line);
  void status(const QString& text);

 private:
  QWidget* makeTitle();
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <cstddef>
#include <vector>

#include "explorer/interventions/intervention_run.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure.h"

class QToolButton;

class QLabel;

namespace lime::explorer {

class FigurePane;

/// Returns the tokens of a line, and a place for the next one. Their colour is the loss that the
/// edits cause: purple where the token became less likely, green where more.
/// @param after  empty while it is not known
std::vector<TextToken> scoredTokens(const LineReading& before, const LineReading& after);

/// Shows the tokens of a line, coloured by the loss that the edits cause, and draws the predictions
/// in place of the selected token into a pane.
class LineTokens : public QWidget {
  Q_OBJECT

 public:
  /// @param next  draws the predictions
  explicit LineTokens(FigurePane& next);

  /// @param colour  of the model
  void show(const InterventionRun& run, std::size_t colour);

 Q_SIGNALS:
  void lineRequested(int line);
  void status(const QString& text);

 private:
  void drawNext();
  QString describeNext(const FigureHit& hit) const;

  LineReading original_;
  LineReading edited_;
  int line_ = 0;
  std::size_t colour_ = 0;
  FigurePane& next_;
  QLabel* title_;
  QToolButton* previous_line_;
  QToolButton* next_line_;
  TokenText* list_;
};

}  // namespace lime::explorer

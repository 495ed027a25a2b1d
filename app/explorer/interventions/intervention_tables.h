// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "explorer/interventions/intervention_result.h"
#include "explorer/models/table_model.h"

namespace lime::explorer {

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

/// Lists the lines of a text with their losses, the most changed first.
class ScoredLines : public TableModel<LineScore> {
 public:
  enum Column { kLine, kBefore, kAfter, kChange, kText, kColumns };

  ScoredLines();

  void setScores(std::vector<LineScore> lines);
  int lineAt(int row) const { return at(row).line; }
  int rowOfLine(int line) const;  ///< -1: none
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <vector>

#include "explorer/interventions/model_outputs.h"
#include "explorer/models/table_model.h"

namespace lime::explorer {

/// Returns a number with its sign, "+0.25".
QString withSign(double value, int digits);

/// Lists the lines of a text with their losses, the most changed first.
class ScoredLines : public TableModel<LineScore> {
 public:
  enum Column { kLine, kBefore, kAfter, kChange, kText, kColumns };

  ScoredLines();

  void setScores(std::vector<LineScore> lines);
  int rowOfLine(int line) const;  ///< -1: none
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <map>
#include <memory>

#include "explorer/models/table_model.h"
#include "explorer/probes/probe_detail.h"

namespace lime::explorer {

/// Lists the prediction of a probe for each token, or each minimal pair. Texts are looked up when
/// they are shown.
class PredictionsModel : public TableModel<ProbePrediction> {
 public:
  /// The columns of tokens are the true and the predicted class, the probability of the true one,
  /// and the sentence; those of pairs the task, the probabilities that the good and the bad
  /// sentence are good, and both sentences.
  enum Column { kFirst, kSecond, kThird, kSentence, kOther, kColumns };
  enum Role { kSort = kFirstFurtherRole };

  void setDetail(std::shared_ptr<const ProbeDetail> detail);
  const ProbeDetail* detail() const { return detail_.get(); }

  /// Returns the sentence of a token, or both sentences of a pair.
  QString text(int row) const;

 private:
  using Value = std::function<QVariant(const ProbePrediction&)>;
  using Cell = TableColumn<ProbePrediction>;
  std::vector<Cell> tokenColumns();
  std::vector<Cell> pairColumns();
  Cell column(const char* title, const char* help, Value text, Value sorted);
  const TokenInSentence& sentenceOf(const ProbePrediction& prediction) const;
  QString textOf(std::int64_t capture_row) const;
  QString toolTip(const ProbePrediction& prediction) const;

  std::shared_ptr<const ProbeDetail> detail_;
  mutable std::map<std::int64_t, TokenInSentence> sentences_;  ///< by row of the capture
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <vector>

#include "explorer/models/sentence_reader.h"
#include "explorer/models/table_model.h"

namespace lime::explorer {

/// A selected token, as the list shows it.
struct SelectedToken {
  int point = 0;  ///< of its embedding
  QString token;
  QString note;  ///< class, or distance
  TokenInSentence sentence;
  int sequence = 0;
  int position = 0;
};

/// Lists tokens in their sentences.
class SelectedTokensModel : public TableModel<SelectedToken> {
 public:
  enum Column { kToken, kNote, kSentence, kColumns };

  SelectedTokensModel() { setTokens({}, QStringLiteral("Class")); }

  void setTokens(std::vector<SelectedToken> tokens, const QString& note_title);
};

}  // namespace lime::explorer

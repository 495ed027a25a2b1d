// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/selected_tokens_model.h"

#include <utility>

namespace lime::explorer {
namespace {

QVariant tokenData(const SelectedToken& row, int role) {
  if (role != Qt::ToolTipRole) return sentenceData(row.sentence, role);
  return QStringLiteral("sequence %1, position %2\n%3")
      .arg(row.sequence)
      .arg(row.position)
      .arg(row.sentence.text());
}

}  // namespace

void SelectedTokensModel::setTokens(std::vector<SelectedToken> tokens, const QString& note_title) {
  setTable({{.title = QStringLiteral("Token"),
             .text = [](const SelectedToken& row) { return row.token; },
             .further = tokenData},
            {.title = note_title,
             .text = [](const SelectedToken& row) { return row.note; },
             .further = tokenData},
            {.title = QStringLiteral("Sentence"),
             .text = [](const SelectedToken& row) { return row.sentence.text(); },
             .further = tokenData}},
           std::move(tokens));
}

}  // namespace lime::explorer

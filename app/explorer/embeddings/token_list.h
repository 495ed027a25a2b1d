// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QString>
#include <QWidget>
#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/tsne/nearest_rows.h"
#include "explorer/embeddings/embedding_set.h"
#include "explorer/embeddings/selected_token.h"
#include "explorer/models/selection.h"
#include "explorer/models/table_model.h"

class QTableView;

namespace lime::explorer {

/// Lists tokens of an embedding in a table: each with its class, or its distance, and its sentence.
class SelectedTokensModel : public TableModel<SelectedToken> {
 public:
  enum Column { kToken, kNote, kSentence, kColumns };

  SelectedTokensModel() { setTokens({}, u"Class"_s); }

  void setTokens(std::vector<SelectedToken> tokens, const QString& note_title);
};

/// Lists tokens of an embedding in their sentences: the selected ones, or the neighbours of one.
class TokenList : public QWidget {
  Q_OBJECT

 public:
  TokenList();

  const SelectedTokensModel& tokens() const { return tokens_; }
  /// Returns the model that the listed points belong to.
  std::size_t model() const { return model_; }
  void setModel(std::size_t model) { model_ = model; }

  /// Lists the tokens of the selection that are points of model(), or of the first model with some.
  void showSelection(const EmbeddingSet& set, const TokenSelection& selected);
  /// Lists the neighbours of a point. @param where  "in the model, by cosine"
  void showNeighbours(const EmbeddingSet& set, std::size_t model, int point,
                      const std::vector<NearRow>& near, const QString& where);
  void showMessage(const QString& message) { title_->setText(message); }

 Q_SIGNALS:
  /// The user requested the neighbours of a listed point.
  void neighboursRequested(std::size_t model, int point);

 private:
  SelectedTokensModel tokens_;
  std::size_t model_ = 0;
  QLabel* title_;
  QTableView* table_;
};

}  // namespace lime::explorer

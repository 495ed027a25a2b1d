// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/token_list.h"

#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/models/token_in_sentence.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/sentence_delegate.h"

namespace lime::explorer {
namespace {

QVariant tokenData(const SelectedToken& row, int role) {
  if (role == kSentenceRole) return QVariant::fromValue(row.sentence);
  if (role != Qt::ToolTipRole) return {};
  return u"sequence %1, position %2\n%3"_s.arg(row.sequence)
      .arg(row.position)
      .arg(row.sentence.text());
}

constexpr std::size_t kMaxListed = 2000;  // in the list

const QString kHint =
    u"Drag a lasso around points to select their tokens, or click a point for its neighbours"_s;

QString titleOf(const EmbeddingSet& set, const TokenSelection& selected, std::size_t num_points,
                std::size_t model) {
  if (num_points > 0) {
    QString title =
        u"<b>%1 of %2 tokens</b> are selected"_s.arg(num_points).arg(set.models[model].size());
    if (num_points > kMaxListed) title += u"; the first %1 are listed"_s.arg(kMaxListed);
    const bool is_one_text = set.numOfText(selected.text) == set.models.size();
    if (!is_one_text) title += u"; embeddings of other texts show none of them"_s;
    return title;
  }
  if (set.models.empty() || selected.empty()) return kHint;
  if (set.numOfText(selected.text) == 0) {
    return u"The selected tokens are from a different text than these embeddings"_s;
  }
  return u"None of the %1 selected tokens is among the points"_s.arg(selected.places.size());
}

}  // namespace

void SelectedTokensModel::setTokens(std::vector<SelectedToken> tokens, const QString& note_title) {
  using Row = const SelectedToken&;
  const auto column = [](const QString& title, auto text) {
    return TableColumn<SelectedToken>{.title = title, .text = text, .further = tokenData};
  };
  setTable({column(u"Token"_s, [](Row row) { return row.token; }),
            column(note_title, [](Row row) { return row.note; }),
            column(u"Sentence"_s, [](Row row) { return row.sentence.text(); })},
           std::move(tokens));
}

TokenList::TokenList()
    : title_(makeCaption(kHint)),
      table_(makeTable(tokens_, u"selected tokens in their sentences"_s)) {
  table_->setItemDelegateForColumn(SelectedTokensModel::kSentence, new SentenceDelegate(table_));
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    Q_EMIT neighboursRequested(model_, tokens_.at(index.row()).point);
  });
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(title_);
  column->addWidget(table_, 1);
}

void TokenList::showSelection(const EmbeddingSet& set, const TokenSelection& selected) {
  const auto pointsIn = [&](std::size_t m) { return set.models[m].pointsOf(selected); };
  if (model_ >= set.models.size() || pointsIn(model_).empty()) {
    model_ = 0;
    while (model_ < set.models.size() && pointsIn(model_).empty()) ++model_;
    if (model_ == set.models.size()) model_ = 0;
  }
  const std::vector<int> points = set.models.empty() ? std::vector<int>() : pointsIn(model_);
  std::vector<SelectedToken> tokens;
  for (std::size_t i = 0; i < std::min(points.size(), kMaxListed); ++i) {
    tokens.push_back(set.models[model_].describe(points[i]));
  }
  title_->setText(titleOf(set, selected, points.size(), model_));
  tokens_.setTokens(std::move(tokens), u"Class"_s);
}

void TokenList::showNeighbours(const EmbeddingSet& set, std::size_t model, int point,
                               const std::vector<NearRow>& near, const QString& where) {
  model_ = model;
  const EmbeddedModel& own = set.models[model];
  std::vector<SelectedToken> tokens;
  for (const NearRow& near_row : near) {
    const auto at = own.point_of_row.find(near_row.row);
    if (at == own.point_of_row.end()) continue;
    tokens.push_back(own.describe(at->second));
    tokens.back().note = QString::number(near_row.distance, 'f', 3);
  }
  const SelectedToken token = own.describe(point);
  title_->setText(u"<b>Nearest to %1</b> (sequence %2, position %3) %4: %5<b>%6</b>%7"_s
                      .arg(token.token.toHtmlEscaped())
                      .arg(token.sequence)
                      .arg(token.position)
                      .arg(where, token.sentence.before.toHtmlEscaped(),
                           token.sentence.token.toHtmlEscaped(),
                           token.sentence.after.toHtmlEscaped()));
  tokens_.setTokens(std::move(tokens), u"Distance"_s);
}

}  // namespace lime::explorer

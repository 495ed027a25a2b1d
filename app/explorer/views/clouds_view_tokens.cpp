// SPDX-License-Identifier: Apache-2.0
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/cloud_canvas.h"
#include "explorer/views/clouds_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/sentence_delegate.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kMostTokens = 2000;  // in the list
constexpr std::size_t kNeighbours = 12;

const QString kHint =
    QStringLiteral("Draw around points to choose their tokens, or click one for its neighbours");

}  // namespace

QWidget* CloudsView::makeList() {
  auto* const widget = new QWidget;
  auto* const column = new QVBoxLayout(widget);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  list_title_ = new QLabel(kHint);
  list_title_->setContentsMargins(12, 4, 12, 4);
  column->addWidget(list_title_);
  table_ = makeTable(tokens_, QStringLiteral("chosen tokens in their sentences"));
  table_->setItemDelegateForColumn(SelectedTokensModel::kSentence, new SentenceDelegate(table_));
  table_->horizontalHeader()->setStretchLastSection(true);
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    chooseNeighbours(list_model_, tokens_.at(index.row()).point);
  });
  column->addWidget(table_, 1);
  return widget;
}

bool CloudsView::isOneText() const {
  return std::all_of(set_.models.begin(), set_.models.end(), [&](const CloudModel& model) {
    return model.tokens->text() == set_.models.front().tokens->text();
  });
}

std::vector<int> CloudsView::pointsOf(std::size_t model, const TokenSelection& tokens) const {
  const std::vector<std::int64_t> rows = set_.models[model].tokens->find(tokens).rows;
  return {rows.begin(), rows.end()};
}

TokenSelection CloudsView::tokensOf(std::size_t model, const std::vector<int>& points) const {
  const std::vector<std::int64_t> rows(points.begin(), points.end());
  return set_.models[model].tokens->tokensAt(rows);
}

void CloudsView::choose(std::size_t model, const std::vector<int>& points,
                        Qt::KeyboardModifiers modifiers) {
  if (model >= set_.models.size()) return;
  list_model_ = model;
  const bool adds = (modifiers & (Qt::ControlModifier | Qt::ShiftModifier)) != 0;
  const TokenSelection& now = workspace().selection().tokens;
  TokenSelection tokens = tokensOf(model, points);
  if (adds && now.text == tokens.text) {
    // Those that have no point here stay chosen, too.
    std::vector<TokenPlace> all;
    std::set_union(tokens.places.begin(), tokens.places.end(), now.places.begin(), now.places.end(),
                   std::back_inserter(all));
    tokens.places = std::move(all);
  }
  chooseTokens(std::move(tokens));
}

void CloudsView::toggle(std::size_t model, int point) {
  if (model >= set_.models.size() || point < 0) return;
  const std::vector<int>& chosen = canvases_[model]->chosen();
  if (!std::binary_search(chosen.begin(), chosen.end(), point)) {
    choose(model, {point}, Qt::ControlModifier);
    return;
  }
  list_model_ = model;
  TokenSelection tokens = workspace().selection().tokens;
  // Several tokens may stand behind a mean.
  std::erase_if(tokens.places, [&](const TokenPlace& place) {
    return pointsOf(model, {tokens.text, {place}}) == std::vector<int>{point};
  });
  chooseTokens(std::move(tokens));
}

void CloudsView::chooseTokens(TokenSelection tokens) {
  if (tokens.empty()) tokens = {};
  changeState(QStringLiteral("Choose tokens"), [&] {
    centre_.reset();
    Selection selection = workspace().selection();
    selection.tokens = std::move(tokens);
    workspace().setSelection(selection);
  });
  findNeighbours();  // none
  showSelection();
}

void CloudsView::showSelection() {
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    canvases_[m]->setChosen(pointsOf(m, workspace().selection().tokens));
  }
  if (!centre_) listTokens();
}

SelectedToken CloudsView::tokenOf(std::size_t model, int point) const {
  const CloudModel& cloud = set_.models[model];
  const auto at = static_cast<std::size_t>(point);
  const RowTable& table = cloud.points.table;
  SelectedToken token{.point = point,
                      .token = QStringLiteral("#%1").arg(table.token[at]),
                      .note = {},
                      .sentence = {},
                      .sequence = table.sequence[at],
                      .position = table.position[at]};
  const std::int16_t id = cloud.points.table.class_id[at];
  if (id >= 0) {
    token.note = toQString(cloud.points.class_names[static_cast<std::size_t>(id)]).trimmed();
  }
  if (cloud.sentences) {
    token.token = cloud.sentences->tokenText(table.token[at]);
    token.sentence = cloud.sentences->at(table.sequence[at], table.position[at], table.token[at]);
  }
  return token;
}

void CloudsView::listTokens() {
  std::vector<SelectedToken> tokens;
  std::size_t chosen = 0;
  if (list_model_ >= canvases_.size() || canvases_[list_model_]->chosen().empty()) {
    // Tokens that were chosen elsewhere are those of the first model that has them.
    const auto has = std::find_if(canvases_.begin(), canvases_.end(),
                                  [](const CloudCanvas* one) { return !one->chosen().empty(); });
    list_model_ = has == canvases_.end() ? 0 : static_cast<std::size_t>(has - canvases_.begin());
  }
  if (list_model_ < canvases_.size()) {
    const std::vector<int>& points = canvases_[list_model_]->chosen();
    chosen = points.size();
    for (std::size_t i = 0; i < std::min(chosen, kMostTokens); ++i) {
      tokens.push_back(tokenOf(list_model_, points[i]));
    }
  }
  QString title = kHint;
  if (chosen > 0) {
    title = QStringLiteral("<b>%1 tokens</b> of %2 are chosen")
                .arg(chosen)
                .arg(set_.models[list_model_].size());
    if (chosen > kMostTokens) title += QStringLiteral("; the first %1 are listed").arg(kMostTokens);
    if (canvases_.size() > 1 && !isOneText()) {
      title += QStringLiteral("; clouds of another text show none of them");
    }
  } else if (!canvases_.empty() && !workspace().selection().tokens.empty()) {
    const TokenSelection& wanted = workspace().selection().tokens;
    const bool is_here =
        std::any_of(set_.models.begin(), set_.models.end(),
                    [&](const CloudModel& model) { return model.tokens->text() == wanted.text; });
    title = is_here ? QStringLiteral("None of the %1 chosen tokens is among the points")
                          .arg(wanted.places.size())
                    : QStringLiteral("The chosen tokens are of another text than these clouds");
  }
  list_title_->setText(title);
  tokens_.setTokens(std::move(tokens), QStringLiteral("Class"));
}

std::vector<NearRow> CloudsView::drawnNeighbours(std::size_t model, int point) const {
  const MatrixF* const points = set_.models[model].coordinates(site(), currentLayer());
  std::vector<NearRow> near;
  if (points == nullptr) return near;
  for (int i = 0; i < set_.models[model].size(); ++i) {
    if (i == point) continue;
    const auto apart = (points->row(i) - points->row(point)).norm();
    near.push_back(
        {set_.models[model].points.row[static_cast<std::size_t>(i)], static_cast<double>(apart)});
  }
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(kNeighbours, near.size()));
  std::partial_sort(near.begin(), end, near.end(),
                    [](const NearRow& a, const NearRow& b) { return a.distance < b.distance; });
  near.erase(end, near.end());
  return near;
}

void CloudsView::chooseNeighbours(std::size_t model, int point) {
  if (model >= set_.models.size() || point < 0) return;
  changeState(QStringLiteral("Show neighbours"), [&] {
    centre_ = Centre{set_.models[model].label, tokensOf(model, {point})};
  });
  findNeighbours();
}

void CloudsView::findNeighbours() {
  for (CloudCanvas* const canvas : canvases_) canvas->setCentre(-1, {});
  if (!centre_) return;
  std::size_t model = 0;
  while (model < canvases_.size() && set_.models[model].label != centre_->label) ++model;
  const std::vector<int> points =
      model < canvases_.size() ? pointsOf(model, centre_->token) : std::vector<int>();
  if (points.empty()) {
    listTokens();
  } else {
    findNeighboursOf(model, points.front());
  }
}

void CloudsView::findNeighboursOf(std::size_t model, int point) {
  const CloudModel& cloud = set_.models[model];
  if (!cloud.sentences) {
    showNeighbours(model, point, drawnNeighbours(model, point), QStringLiteral("in the drawing"));
    return;
  }
  const std::int64_t row = cloud.points.row[static_cast<std::size_t>(point)];
  jobs().start<std::vector<NearRow>>(
      this,
      {.title = QStringLiteral("Neighbours of a token"),
       .key = QStringLiteral("clouds/neighbours"),
       .is_shown = false},
      [capture = cloud.sentences->sharedCapture(), site = site(), layer = currentLayer(), row,
       rows = cloud.points.row](const JobContext& context) {
        return nearest_rows(*capture, site, layer, row, rows, kNeighbours, context.stop);
      },
      [this, model, point, centre = centre_](const std::vector<NearRow>& near) {
        // Something else may have been chosen since.
        if (centre != centre_) return;
        showNeighbours(model, point, near,
                       QStringLiteral("in the model, by distance of rows of "
                                      "length 1"));
      },
      [this](const QString& error) { list_title_->setText(error); });
}

void CloudsView::showNeighbours(std::size_t model, int point, const std::vector<NearRow>& near,
                                const QString& where) {
  if (model >= canvases_.size()) return;
  list_model_ = model;
  std::vector<SelectedToken> tokens;
  std::vector<int> around;
  for (const NearRow& one : near) {
    const auto at = set_.models[model].point_of_row.find(one.row);
    if (at == set_.models[model].point_of_row.end()) continue;
    around.push_back(at->second);
    tokens.push_back(tokenOf(model, at->second));
    tokens.back().note = QString::number(one.distance, 'f', 3);
  }
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const std::vector<int> centre = pointsOf(m, tokensOf(model, {point}));
    canvases_[m]->setCentre(
        centre.empty() ? -1 : centre.front(),
        centre.empty() ? std::vector<int>() : pointsOf(m, tokensOf(model, around)));
  }
  const SelectedToken token = tokenOf(model, point);
  list_title_->setText(
      QStringLiteral("<b>Nearest to %1</b> (sequence %2, position %3) %4: %5")
          .arg(token.token.toHtmlEscaped())
          .arg(token.sequence)
          .arg(token.position)
          .arg(where, (token.sentence.before.toHtmlEscaped() + QStringLiteral("<b>") +
                       token.sentence.token.toHtmlEscaped() + QStringLiteral("</b>") +
                       token.sentence.after.toHtmlEscaped())));
  tokens_.setTokens(std::move(tokens), QStringLiteral("Distance"));
}

void CloudsView::describe(std::size_t model, int point) {
  if (point < 0 || model >= set_.models.size()) {
    Q_EMIT status({});
    return;
  }
  const SelectedToken token = tokenOf(model, point);
  const QString text =
      QStringLiteral("%1%2  sequence %3, position %4: %5%6%7")
          .arg(token.token)
          .arg(token.note.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(token.note))
          .arg(token.sequence)
          .arg(token.position)
          .arg(token.sentence.before, token.sentence.token, token.sentence.after);
  const std::vector<int>& chosen = canvases_[model]->chosen();
  const bool is_chosen = std::binary_search(chosen.begin(), chosen.end(), point);
  // What those hear who do not see the marker.
  canvases_[model]->setAccessibleDescription(is_chosen ? QStringLiteral("chosen: ") + text : text);
  Q_EMIT status(text);
}

}  // namespace lime::explorer

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
  table_ = new QTableView;
  table_->setModel(&tokens_);
  table_->setItemDelegateForColumn(SelectedTokensModel::kSentence, new SentenceDelegate(table_));
  table_->setAccessibleName(QStringLiteral("chosen tokens in their sentences"));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 6);
  table_->horizontalHeader()->setStretchLastSection(true);
  connect(table_, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
    findNeighbours(list_model_, tokens_.at(index.row()).point);
  });
  column->addWidget(table_, 1);
  return widget;
}

bool CloudsView::isOneText() const {
  return std::all_of(set_.models.begin(), set_.models.end(), [&](const CloudModel& model) {
    return !model.text_sha256.empty() && model.text_sha256 == set_.models.front().text_sha256;
  });
}

void CloudsView::choose(std::size_t model, const std::vector<int>& points,
                        Qt::KeyboardModifiers modifiers) {
  if (model >= set_.models.size()) return;
  for (CloudCanvas* const canvas : canvases_) canvas->setCentre(-1, {});
  shows_neighbours_ = false;
  list_model_ = model;
  Selection selection = workspace().selection();
  std::vector<std::int64_t> rows;
  if ((modifiers & (Qt::ControlModifier | Qt::ShiftModifier)) != 0) rows = selection.rows;
  for (const int point : points) {
    rows.push_back(set_.models[model].points.rows.row[static_cast<std::size_t>(point)]);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  selection.rows = std::move(rows);
  const bool is_new = !(selection == workspace().selection());
  changeState(QStringLiteral("Choose tokens"), [&] { workspace().setSelection(selection); });
  if (!is_new) showSelection();
}

void CloudsView::showSelection() {
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    // Rows mean other tokens in captures of another text.
    std::vector<int> points;
    for (const std::int64_t row : workspace().selection().rows) {
      if (m != list_model_ && !isOneText()) break;
      const auto at = set_.models[m].point_of_row.find(row);
      if (at != set_.models[m].point_of_row.end()) points.push_back(at->second);
    }
    canvases_[m]->setChosen(std::move(points));
  }
  if (!shows_neighbours_) listTokens();
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
  const std::int16_t id = cloud.points.rows.class_id[at];
  if (id >= 0) {
    token.note = toQString(cloud.points.rows.class_names[static_cast<std::size_t>(id)]).trimmed();
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
  if (list_model_ >= canvases_.size()) list_model_ = 0;
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
      title += QStringLiteral("; the other clouds are of another text");
    }
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
    near.push_back({set_.models[model].points.rows.row[static_cast<std::size_t>(i)],
                    static_cast<double>(apart)});
  }
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(kNeighbours, near.size()));
  std::partial_sort(near.begin(), end, near.end(),
                    [](const NearRow& a, const NearRow& b) { return a.distance < b.distance; });
  near.erase(end, near.end());
  return near;
}

void CloudsView::findNeighbours(std::size_t model, int point) {
  const CloudModel& cloud = set_.models[model];
  if (!cloud.sentences) {
    showNeighbours(model, point, drawnNeighbours(model, point), QStringLiteral("in the drawing"));
    return;
  }
  const std::int64_t row = cloud.points.rows.row[static_cast<std::size_t>(point)];
  jobs().start<std::vector<NearRow>>(
      this,
      {.title = QStringLiteral("Neighbours of a token"),
       .key = QStringLiteral("clouds/neighbours"),
       .is_shown = false},
      [capture = cloud.sentences->sharedCapture(), site = site(), layer = currentLayer(), row,
       rows = cloud.points.rows.row](const JobContext& context) {
        return nearest_rows(*capture, site, layer, row, rows, kNeighbours, context.stop);
      },
      [this, model, point](const std::vector<NearRow>& near) {
        showNeighbours(model, point, near,
                       QStringLiteral("in the model, by distance of rows of "
                                      "length 1"));
      },
      [this](const QString& error) { list_title_->setText(error); });
}

void CloudsView::showNeighbours(std::size_t model, int point, const std::vector<NearRow>& near,
                                const QString& where) {
  if (model >= canvases_.size()) return;
  shows_neighbours_ = true;
  list_model_ = model;
  std::vector<SelectedToken> tokens;
  std::vector<std::int64_t> rows;
  for (const NearRow& one : near) {
    const auto at = set_.models[model].point_of_row.find(one.row);
    if (at == set_.models[model].point_of_row.end()) continue;
    rows.push_back(one.row);
    tokens.push_back(tokenOf(model, at->second));
    tokens.back().note = QString::number(one.distance, 'f', 3);
  }
  const std::int64_t own = set_.models[model].points.rows.row[static_cast<std::size_t>(point)];
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const auto& point_of = set_.models[m].point_of_row;
    std::vector<int> points;
    for (const std::int64_t row : rows) {
      if (const auto at = point_of.find(row); at != point_of.end()) points.push_back(at->second);
    }
    const auto centre = point_of.find(own);
    const bool is_shown = (m == model || isOneText()) && centre != point_of.end();
    canvases_[m]->setCentre(is_shown ? centre->second : -1, is_shown ? points : std::vector<int>());
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
  Q_EMIT status(QStringLiteral("%1%2  sequence %3, position %4: %5%6%7")
                    .arg(token.token)
                    .arg(token.note.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(token.note))
                    .arg(token.sequence)
                    .arg(token.position)
                    .arg(token.sentence.before, token.sentence.token, token.sentence.after));
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QLineEdit>
#include <QSlider>
#include <QTabBar>
#include <QTableView>
#include <algorithm>

#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/text_view.h"
#include "explorer/views/token_text.h"
#include "store/capture_reader.h"

namespace lime::explorer {

void TextView::connectAll() {
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace(), signal, this, [this] { documentsChanged(); });
  }
  connect(&workspace(), &Workspace::documentAdded, this, [this](int id) {
    // The new checkpoint may have the tokenizer that was missing.
    const Document* const added = workspace().find(id);
    const Document* const shown = capture();
    if (added == nullptr || !added->checkpoint || shown == nullptr) return;
    const Answer<SequenceTokens>& answer = measurements_.tokens(shown->id);
    if (answer.result && answer.result->checkpoint.empty()) measurements_.forget();
  });
  connect(&workspace(), &Workspace::selectionChanged, this, [this] { hearSelection(); });
  connect(&rows_, &CaptureRows::ready, this, [this] { hearSelection(); });
  connect(&workspace(), &Workspace::currentChanged, this, [this](int id) {
    const bool is_offered = capture_->findData(id) >= 0;
    if (!is_offered || capture_->currentData() == QVariant(id)) return;
    chooseData(*capture_, id);
    listSites();
    look();
    draw();
  });
  connect(&measurements_, &TextMeasurements::changed, this, [this] { draw(); });
  connect(&measurements_, &TextMeasurements::attentionChanged, this, [this] { drawAttention(); });
  connect(&measurements_, &TextMeasurements::routedChanged, this, [this] {
    drawRouted();
    Q_EMIT figureChanged();
  });
  connectControls();
  connectPanes();
}

void TextView::connectControls() {
  const auto onChoice = [this](QComboBox* box, const QString& text, auto list) {
    connect(box, &QComboBox::activated, this, [this, text, list] {
      (this->*list)();
      recordChange(text);
      look();
      draw();
    });
  };
  onChoice(capture_, QStringLiteral("Choose the capture"), &TextView::listSites);
  onChoice(site_, QStringLiteral("Choose the site"), &TextView::listLayers);
  onChoice(measure_, QStringLiteral("Colour the tokens"), &TextView::listLayers);
  connect(heads_, &QComboBox::activated, this, [this] {
    head_ = heads_->currentData().toInt();
    recordChange(QStringLiteral("Choose the head"));
    drawAttention();
  });
  connect(lower_kind_, &QTabBar::currentChanged, this, [this] {
    recordChange(QStringLiteral("Layers or attention"));
    look();
    draw();
    activate(showsAttention() ? pattern_ : map_);
  });
  connect(layer_slider_, &QSlider::valueChanged, this, [this](int at) {
    const std::vector<int> all = layers();
    if (at >= 0 && at < static_cast<int>(all.size())) {
      chooseLayer(all[static_cast<std::size_t>(at)]);
    }
  });
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    // The list would move to a neighbour where the current sequence leaves it.
    is_filtering_ = true;
    filter_.setFilterFixedString(text);
    is_filtering_ = false;
    draw();
  });
  connect(list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (index.isValid() && !is_filtering_) chooseSequence(filter_.mapToSource(index).row());
          });
  connect(text_, &TokenText::hovered, this,
          [this](int token) { Q_EMIT status(describeToken(token)); });
  connect(text_, &TokenText::chosen, this, [this](int token) {
    chooseToken(token);
    Q_EMIT status(describeToken(token));
  });
}

void TextView::connectPanes() {
  for (FigurePane* const pane : {map_, pattern_, routed_}) {
    connect(pane, &FigurePane::activated, this, [this, pane] { activate(pane); });
    connect(&pane->plot(), &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
    connect(&pane->plot(), &FigureView::hovered, this, [this, pane](const FigureHit& hit) {
      Q_EMIT status(pane == map_       ? describeCell(hit)
                    : pane == pattern_ ? describePattern(hit)
                                       : describeRouted(hit));
    });
  }
  connect(&map_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (!hit.cell) return;
    const std::vector<int> all = layers();
    Selection selection = selectionOf(hit.cell->col);
    if (hit.cell->row < static_cast<int>(all.size())) {
      selection.layer = all[static_cast<std::size_t>(hit.cell->row)];
    }
    changeSelection(QStringLiteral("Choose a token and a layer"), selection);
  });
  connect(&pattern_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    const Answer<AttentionExploration>& answer = measurements_.attention();
    if (!hit.cell || !answer.result) return;
    const auto tokens = static_cast<int>(answer.result->patterns.front().rows());
    chooseToken(tokens - 1 - hit.cell->row);
  });
  connect(&routed_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) chooseToken(hit.cell->col);
  });
}

void TextView::activate(FigurePane* pane) {
  active_ = pane;
  for (FigurePane* const one : {map_, pattern_, routed_}) one->setActive(one == pane);
  Q_EMIT figureChanged();
}

void TextView::chooseSequence(int sequence) {
  const int count = sentences_.rowCount();
  if (sequence < 0 || sequence >= count || sequence == sequence_) return;
  changeState(QStringLiteral("Choose the sequence"), [&] {
    sequence_ = sequence;
    look();
    draw();
  });
}

Selection TextView::selectionOf(int token) const {
  const Document* const document = capture();
  Selection selection = workspace().selection();
  if (document == nullptr || token < 0) return selection;
  const std::int64_t first = document->capture->offsets()[static_cast<std::size_t>(sequence_)];
  selection.tokens = tokensAt(*document->capture, std::vector<std::int64_t>{first + token});
  return selection;
}

void TextView::chooseToken(int token) {
  changeSelection(QStringLiteral("Choose a token"), selectionOf(token));
}

void TextView::chooseLayer(int layer) {
  Selection selection = workspace().selection();
  selection.layer = layer;
  changeSelection(QStringLiteral("Select a layer"), selection);
}

void TextView::walkLayers(int step) {
  const std::vector<int> all = layers();
  const std::optional<int> now = layer();
  if (all.empty() || !now) return;
  const auto at = static_cast<int>(std::find(all.begin(), all.end(), *now) - all.begin());
  chooseLayer(
      all[static_cast<std::size_t>(std::clamp(at + step, 0, static_cast<int>(all.size()) - 1))]);
}

void TextView::hearSelection() {
  const Document* const document = capture();
  const TokenSelection& tokens = workspace().selection().tokens;
  // A token that was chosen elsewhere is shown in its sequence, once its row is known.
  if (document != nullptr && tokens != heard_tokens_ && rows_.of(*document) != nullptr) {
    heard_tokens_ = tokens;
    const std::vector<std::int64_t>& rows = chosenTokens().rows;
    if (!rows.empty()) {
      sequence_ = document->capture->rows().sequence[static_cast<std::size_t>(rows.front())];
    }
  }
  look();
  draw();
}

const TokenRows::Found& TextView::chosenTokens() const {
  static const TokenRows::Found nothing;
  const Document* const document = capture();
  const TokenRows* const rows = document == nullptr ? nullptr : rows_.of(*document);
  if (rows == nullptr) return nothing;
  const TokenSelection& tokens = workspace().selection().tokens;
  if (chosen_.capture != document->capture || chosen_.tokens != tokens) {
    chosen_ = {document->capture, tokens, rows->find(tokens)};
  }
  return chosen_.found;
}

QString TextView::tokensNote() const {
  const Document* const document = capture();
  if (document == nullptr) return {};
  const TokenRows::Found& found = chosenTokens();
  if (found.is_other_text) {
    return QStringLiteral("The tokens that are chosen are of another text than %1.")
        .arg(document->label);
  }
  if (found.rows.empty() && found.absent > 0) {
    return QStringLiteral("%1 has no rows of the tokens that are chosen.").arg(document->label);
  }
  return {};
}

int TextView::token() const {
  const Document* const document = capture();
  if (document == nullptr) return -1;
  const auto at = static_cast<std::size_t>(sequence_);
  const std::vector<std::int64_t>& offsets = document->capture->offsets();
  if (at + 1 >= offsets.size()) return -1;
  const std::vector<std::int64_t>& rows = chosenTokens().rows;
  const auto first = std::lower_bound(rows.begin(), rows.end(), offsets[at]);
  const auto end = std::lower_bound(first, rows.end(), offsets[at + 1]);
  return end - first == 1 ? static_cast<int>(*first - offsets[at]) : -1;
}

int TextView::query() const {
  if (token() >= 0) return token();
  const Answer<AttentionExploration>& answer = measurements_.attention();
  return answer.result ? static_cast<int>(answer.result->patterns.front().rows()) - 1 : 0;
}

QString TextView::tokenName(int token) const {
  const Document* const document = capture();
  if (document == nullptr) return {};
  const Answer<SequenceTokens>& answer = measurements_.tokens(document->id);
  if (!answer.result || token < 0 || token >= static_cast<int>(answer.result->texts.size())) {
    return {};
  }
  return QStringLiteral("'%1' (%2)")
      .arg(answer.result->texts[static_cast<std::size_t>(token)])
      .arg(token);
}

QString TextView::describeToken(int token) const {
  const Document* const document = capture();
  const std::optional<int> now = layer();
  if (token < 0 || document == nullptr || !now) return {};
  const Answer<SequenceTokens>& answer = measurements_.tokens(document->id);
  if (!answer.result) return {};
  QString text =
      QStringLiteral("%1, layer %2").arg(tokenName(token)).arg(*now + preferences().layer_base);
  for (const TokenMeasureName& one : tokenMeasures()) {
    const std::vector<std::optional<double>> values = valuesOfLayer(*answer.result, one.key, *now);
    const auto at = static_cast<std::size_t>(token);
    if (at >= values.size() || !values[at]) continue;
    text += QStringLiteral("; %1 %2")
                .arg(QString::fromUtf8(one.title).toLower())
                .arg(*values[at], 0, 'g', 4);
    if (*one.unit != '\0') text += QLatin1Char(' ') + QString::fromUtf8(one.unit);
  }
  return text;
}

QString TextView::describeCell(const FigureHit& hit) const {
  const Figure* const figure = map_->plot().figure();
  if (figure == nullptr || !hit.cell || hit.panel >= map_documents_.size()) return {};
  const Document* const document = workspace().find(map_documents_[hit.panel]);
  const std::vector<int> all = layers();
  const auto row = static_cast<std::size_t>(hit.cell->row);
  if (document == nullptr || row >= all.size()) return {};
  const auto& map = std::get<MapPanel>(figure->panels[hit.panel].content);
  return QStringLiteral("%1: %2, layer %3: %4 %5")
      .arg(document->label, tokenName(hit.cell->col))
      .arg(all[row] + preferences().layer_base)
      .arg(measure_->currentText().toLower())
      .arg(map.values(hit.cell->row, hit.cell->col), 0, 'g', 4);
}

QString TextView::describePattern(const FigureHit& hit) const {
  const Answer<AttentionExploration>& answer = measurements_.attention();
  if (!answer.result || !hit.cell) return {};
  const MatrixF& pattern = answer.result->patterns[static_cast<std::size_t>(head_)];
  const auto query = static_cast<int>(pattern.rows()) - 1 - hit.cell->row;
  return QStringLiteral("%1 attends to %2 with %3; click to follow it through the routers")
      .arg(tokenName(query), tokenName(hit.cell->col))
      .arg(static_cast<double>(pattern(query, hit.cell->col)), 0, 'f', 4);
}

QString TextView::describeRouted(const FigureHit& hit) const {
  const Answer<RoutedAttention>& answer = measurements_.routed();
  if (!answer.result || !hit.cell) return {};
  const MatrixD& shares = answer.result->shares;
  return QStringLiteral("%1 from buffered layer %2: %3 % of what is read; the layer in all %4 %")
      .arg(tokenName(hit.cell->col))
      .arg(hit.cell->row + preferences().layer_base)
      .arg(100.0 * shares(hit.cell->row, hit.cell->col), 0, 'f', 2)
      .arg(100.0 * shares.row(hit.cell->row).sum(), 0, 'f', 1);
}

}  // namespace lime::explorer

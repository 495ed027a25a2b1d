// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/token_strip.h"

#include <QLabel>
#include <QSignalBlocker>

#include "explorer/models/document.h"
#include "explorer/models/workspace.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kMaxPinned = 3;  // captures side by side

}  // namespace

TokenStrip::TokenStrip(TextMeasurements& measurements, Workspace& workspace,
                       const Preferences& preferences)
    : measurements_(measurements),
      workspace_(workspace),
      preferences_(preferences),
      pane_(new FigurePane(u"pinned token in all layers"_s)),
      table_(makeTable(layers_, u"pinned token, layer by layer"_s)),
      missing_(makeNote(u"what is not captured of the pinned token"_s)) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeSplitter(Qt::Horizontal, {pane_, table_}, {3000, 2000}), 1);
  table_->setAlternatingRowColors(true);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (index.isValid()) Q_EMIT layerSelected(layers_.at(index.row()).layer);
          });
  column->addWidget(missing_);
  setMinimumHeight(150);
  hide();
  pane_->plot().setDescriber(
      [this](const FigureHit& hit) { return shown_ ? shown_->describe(hit) : QString(); });
}

std::vector<PinnedIn> TokenStrip::known(QString& problem) const {
  std::vector<PinnedIn> known;
  for (const int id : measurements_.documents()) {
    const Answer<PinnedToken>& answer = measurements_.pinned(id);
    const Document* const document = workspace_.find(id);
    if (!answer.problem.isEmpty()) problem = answer.problem;
    if (document == nullptr || !answer.result || known.size() >= kMaxPinned) continue;
    known.push_back({workspace_.uniqueLabel(*document), *answer.result});
  }
  if (known.size() == 1) known.front().label.clear();
  return known;
}

void TokenStrip::listLayers() {
  const Answer<std::vector<PinnedLayer>>& answer = measurements_.pinnedLayers();
  std::vector<PinnedLayer> rows = answer.result.value_or(std::vector<PinnedLayer>());
  for (PinnedLayer& row : rows) row.shown_layer = row.layer + preferences_.layer_base;
  const bool has_words =
      std::ranges::any_of(rows, [](const PinnedLayer& row) { return !row.lens_word.isEmpty(); });
  table_->setColumnHidden(PinnedLayersModel::kLensWord, !has_words);
  if (rows == layers_.rows()) return;
  if (rows.size() == layers_.rows().size()) return layers_.updateRows(std::move(rows));
  const QSignalBlocker quiet(table_->selectionModel());
  layers_.setRows(std::move(rows));
  for (const int column : {PinnedLayersModel::kLayer, PinnedLayersModel::kLensWord}) {
    table_->resizeColumnToContents(column);
  }
}

void TokenStrip::draw(const SequenceTokens* tokens) {
  const int count = tokens == nullptr ? 0 : static_cast<int>(tokens->texts.size());
  const bool is_shown = token_ >= 0 && token_ < count;
  setVisible(is_shown);
  {
    const QSignalBlocker quiet(&measurements_);
    measurements_.readPinned(is_shown ? std::optional(token_) : std::nullopt);
  }
  if (!is_shown) return;
  listLayers();
  QString problem = u"Reading ..."_s;
  std::vector<PinnedIn> all = known(problem);
  const bool is_known = !all.empty();
  shown_.emplace(std::move(all), tokens->texts, preferences_.layer_base);
  pane_->show(shown_->figure(),
              is_known ? u"The open captures contain no logit lens, attention, sources or experts "
                         u"of this token."_s
                       : problem,
              u"%1 through all layers (Escape unpins it)"_s.arg(tokenName(tokens->texts, token_)),
              u"Probability of the next token by the logit lens, attention to the largest keys, "
              u"mean over heads, what each part reads, and the selected experts with their "
              u"weights: what the open captures have"_s);
  QStringList lines;
  if (is_known && !shown_->missing().isEmpty()) lines << shown_->missing();
  if (is_known && token_ + 1 == count) {
    lines << u"The last token has no next one, so there is no logit lens."_s;
  }
  setNote(*missing_, lines);
}

QStringList TokenStrip::commandLines(int sequence) const {
  QStringList lines;
  for (const int id : measurements_.documents()) {
    const Answer<PinnedToken>& answer = measurements_.pinned(id);
    const Document* const document = workspace_.find(id);
    if (document == nullptr || !answer.result) continue;
    lines += pinnedTokenCommandLines(*answer.result, document->path, sequence);
  }
  return lines;
}

}  // namespace lime::explorer

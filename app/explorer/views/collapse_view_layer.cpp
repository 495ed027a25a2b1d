// SPDX-License-Identifier: Apache-2.0
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <numeric>

#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/models/workspace.h"
#include "explorer/views/collapse_view.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/theme.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

const QString kNoLayer = QStringLiteral("Click a layer to see its spectrum");

}  // namespace

QWidget* CollapseView::makeDetail() {
  auto* const detail = new QWidget;
  auto* const column = new QVBoxLayout(detail);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  layer_title_ = new QLabel;
  layer_title_->setContentsMargins(12, 4, 12, 4);
  column->addWidget(layer_title_);
  auto* const split = new QSplitter(Qt::Horizontal);
  split->setChildrenCollapsible(false);
  spectrum_->setAccessibleName(QStringLiteral("spectrum of the selected layer"));
  spectrum_->setMessage(kNoLayer);
  connect(spectrum_, &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
  connect(spectrum_, &FigureView::hovered, this, [this](const FigureHit& hit) {
    if (!hit.point || spectrum_->figure() == nullptr) return;
    const auto& panel = std::get<CurvePanel>(spectrum_->figure()->panels.front().content);
    const Curve& curve = panel.curves[hit.point->series];
    Q_EMIT status(QStringLiteral("%1: eigenvalue %2 holds %3 % of the variance")
                      .arg(toQString(curve.label))
                      .arg(curve.x[hit.point->index])
                      .arg(100.0 * curve.y[hit.point->index], 0, 'g', 3));
  });
  split->addWidget(spectrum_);
  table_ = makeTable(extremes_, QStringLiteral("sequences at the extremes"));
  table_->setAlternatingRowColors(true);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->resizeColumnsToContents();
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this] { selectSequence(); });
  split->addWidget(table_);
  split->setStretchFactor(0, 2);
  split->setStretchFactor(1, 3);
  column->addWidget(split, 1);
  return detail;
}

void CollapseView::layerChanged() {
  listExtremes();
  drawSpectrum();
}

std::optional<FigurePanel> CollapseView::spectrumPanel() const {
  constexpr int kNamed = 7;
  CurvePanel curves;
  const auto add = [&](const std::string& label, const std::vector<double>& shares, int colour,
                       LinePattern pattern) {
    Curve curve;
    curve.label = label;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      curve.x.push_back(static_cast<double>(i + 1));
      curve.y.push_back(shares[i]);
    }
    curve.look = {static_cast<std::size_t>(colour % kNamed), pattern, MarkerShape::kNone};
    curves.curves.push_back(std::move(curve));
  };
  for (const Document* const document : measurements_.captures()) {
    const Answer<LayerExploration>& answer = measurements_.layerOf(document->id);
    if (!answer.result) continue;
    const LayerExploration& layer = *answer.result;
    const std::string label = measurements_.labelOf(*document).toStdString();
    add(label, layer.spectrum, document->colour, LinePattern::kSolid);
    if (!extreme_ || extreme_->document != document->id) continue;
    for (const ExploredSequence& sequence : extreme_->is_lowest ? layer.lowest : layer.highest) {
      if (sequence.sequence != extreme_->sequence) continue;
      add(label + ", sequence " + std::to_string(sequence.sequence), sequence.spectrum,
          document->colour, LinePattern::kDashed);
    }
  }
  if (curves.curves.empty()) return std::nullopt;
  return FigurePanel{.title = {},
                     .x = {.label = "eigenvalue", .logarithmic = true},
                     .y = {.label = "share of variance", .logarithmic = true},
                     .content = std::move(curves)};
}

void CollapseView::drawSpectrum() {
  spectrum_->setFigureStyle(screenStyle(*this, preferences()));
  QStringList problems;
  for (const Document* const document : measurements_.captures()) {
    const QString& problem = measurements_.layerOf(document->id).problem;
    if (!problem.isEmpty()) problems << problem;
  }
  const std::optional<int> layer = measurements_.layer();
  layer_title_->setText(layer ? QStringLiteral("<b>Layer %1</b>  spectrum of all rows, and the "
                                               "sequences of lowest and highest entropy")
                                    .arg(*layer + preferences().layer_base)
                              : QStringLiteral("No layer is selected"));
  spectrum_->setMessage(!layer                             ? kNoLayer
                        : measurements_.isMeasuringLayer() ? QStringLiteral("Measuring ...")
                        : !problems.isEmpty()              ? problems.join(QLatin1Char('\n'))
                                              : QStringLiteral("No open capture has this layer."));
  const std::optional<FigurePanel> panel = spectrumPanel();
  if (panel) {
    Figure figure;
    figure.name = "spectrum";
    figure.panels.push_back(*panel);
    spectrum_->setFigure(std::move(figure));
  } else {
    spectrum_->setFigure(std::nullopt);
  }
  Q_EMIT figureChanged();
}

void CollapseView::listExtremes() {
  std::vector<ExtremeSequence> rows;
  for (const bool is_lowest : {true, false}) {
    for (const Document* const document : measurements_.captures()) {
      const Answer<LayerExploration>& answer = measurements_.layerOf(document->id);
      if (!answer.result) continue;
      const LayerExploration& layer = *answer.result;
      for (const ExploredSequence& sequence : is_lowest ? layer.lowest : layer.highest) {
        rows.push_back({.document = document->id,
                        .label = measurements_.labelOf(*document),
                        .is_lowest = is_lowest,
                        .sequence = sequence.sequence,
                        .entropy = sequence.entropy,
                        .ceiling = sequence.ceiling,
                        .text = toQString(sequence.text)});
      }
    }
  }
  const bool had_none = extremes_.rowCount() == 0;
  extremes_.setSequences(std::move(rows));
  if (had_none && extremes_.rowCount() > 0) {
    for (int column = 0; column < ExtremesModel::kText; ++column) {
      table_->resizeColumnToContents(column);
    }
  }
  showExtreme();
}

void CollapseView::showExtreme() {
  QModelIndex wanted;
  for (int row = 0; extreme_ && row < extremes_.rowCount() && !wanted.isValid(); ++row) {
    const ExtremeSequence& one = extremes_.at(row);
    const bool is_it = one.document == extreme_->document && one.is_lowest == extreme_->is_lowest &&
                       one.sequence == extreme_->sequence;
    if (is_it) wanted = extremes_.index(row, 0);
  }
  const QSignalBlocker quiet(table_->selectionModel());
  table_->setCurrentIndex(wanted);
  table_->viewport()->update();
}

void CollapseView::selectSequence() {
  const int row = table_->currentIndex().row();
  if (row >= 0 && row < extremes_.rowCount()) {
    const ExtremeSequence& chosen = extremes_.at(row);
    if (const Document* const document = workspace().find(chosen.document)) {
      const std::vector<std::int64_t>& offsets = document->capture->offsets();
      const auto at = static_cast<std::size_t>(chosen.sequence);
      std::vector<std::int64_t> rows(static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
      std::iota(rows.begin(), rows.end(), offsets[at]);
      Selection selection = workspace().selection();
      selection.tokens = tokensAt(*document->capture, rows);
      changeState(QStringLiteral("Choose a sequence"), [&] {
        extreme_ = Extreme{chosen.document, chosen.is_lowest, chosen.sequence};
        workspace().setSelection(selection);
      });
    }
  }
  drawSpectrum();
}

}  // namespace lime::explorer

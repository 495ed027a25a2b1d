// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/token_map.h"

#include <QColor>
#include <QRectF>
#include <algorithm>
#include <utility>

#include "explorer/models/document.h"
#include "explorer/models/figures.h"
#include "explorer/models/workspace.h"
#include "explorer/text/sequence_tokens.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {

TokenMap::TokenMap(const TextMeasurements& measurements, Workspace& workspace,
                   const Preferences& preferences)
    : FigurePane(u"tokens in all layers"_s),
      measurements_(measurements),
      workspace_(workspace),
      preferences_(preferences) {
  plot().setDescriber([this](const FigureHit& hit) { return describe(hit); });
  connect(&plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) Q_EMIT cellSelected(hit.cell->col, layerAt(hit.cell->row));
  });
}

std::optional<int> TokenMap::layerAt(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return at < content_.layers.size() ? std::optional(content_.layers[at]) : std::nullopt;
}

void TokenMap::draw(Content content, const QString& message) {
  // A click redraws the view, but changes no value.
  Drawn drawn{.content = content, .message = message, .layer_base = preferences_.layer_base};
  for (const int id : measurements_.documents()) {
    const Answer<SequenceTokens>& answer = measurements_.tokens(id);
    const Document* const document = workspace_.find(id);
    if (!answer.result || document == nullptr) continue;
    drawn.parts.emplace_back(document->capture, workspace_.uniqueLabel(*document),
                             answer.result->revision);
  }
  if (drawn == drawn_) return;
  drawn_ = std::move(drawn);
  content_ = std::move(content);
  std::vector<FigureSource> sources;
  documents_.clear();
  for (const int id : measurements_.documents()) {
    const Answer<SequenceTokens>& answer = measurements_.tokens(id);
    const Document* const document = workspace_.find(id);
    if (!answer.result || document == nullptr) continue;
    FigureSource source{document->path, answer.result->results};
    const std::string label = workspace_.uniqueLabel(*document).toStdString();
    for (ResultRow& row : source.results.rows) row.set(col::kLabel, label);
    sources.push_back(std::move(source));
    documents_.push_back(id);
  }
  FigureOptions options;
  options.layer_base = preferences_.layer_base;
  options.mixed_texts = true;
  options.measure = {content_.measure};
  FigureOrMessage figure_or_message = figureOrMessage(sources, options);
  const QString& problem = figure_or_message.message;
  const QString& reason = message.isEmpty() ? figure_or_message.nothing : message;
  show(std::move(figure_or_message.figure), problem.isEmpty() ? reason : problem,
       u"%1 of each token in each layer, sequence %2"_s.arg(content_.title).arg(content_.sequence));
  plot().linkAllPanels(workspace_, u"token"_s);
}

void TokenMap::mark(std::optional<int> layer, int token) {
  const Figure* const map = plot().figure();
  const std::vector<int>& all = content_.layers;
  const auto row = layer ? std::ranges::find(all, *layer) : all.end();
  std::vector<FigureMark> marks;
  for (std::size_t p = 0; map != nullptr && p < map->panels.size() && row != all.end(); ++p) {
    const auto at = static_cast<double>(row - all.begin());
    const auto& cells = std::get<HeatmapPanel>(map->panels[p].content).values;
    marks.push_back({.panel = p,
                     .area = QRectF(-0.5, at - 0.5, static_cast<double>(cells.cols()), 1.0),
                     .is_strong = false});
    if (token >= 0) marks.push_back({.panel = p, .area = QRectF(token - 0.5, at - 0.5, 1.0, 1.0)});
  }
  plot().setMarks(std::move(marks));
}

std::vector<TextToken> TokenMap::coloured(const std::vector<std::optional<double>>& values) const {
  const Figure* const map = plot().figure();
  const auto [low, high] = map != nullptr ? colour_range_of(*map) : std::pair(0.0, 1.0);
  const HeatmapPalette palette =
      usual_palette(map != nullptr && std::get<HeatmapPanel>(map->panels.front().content).is_signed,
                    isDark(this->palette()));
  std::vector<TextToken> tokens;
  for (const std::optional<double>& value : values) {
    TextToken& token = tokens.emplace_back();
    if (!value) continue;
    const Colour own = heatmap_colour(palette, high > low ? (*value - low) / (high - low) : 0.5);
    token.ground = QColor(own.red, own.green, own.blue);
    token.is_clipped = *value < low || *value > high;
  }
  return tokens;
}

QString TokenMap::describe(const FigureHit& hit) const {
  const Figure* const map = plot().figure();
  if (map == nullptr || !hit.cell || hit.panel >= documents_.size()) return {};
  const int id = documents_[hit.panel];
  const Document* const document = workspace_.find(id);
  const Answer<SequenceTokens>& answer = measurements_.tokens(id);
  const std::optional<int> layer = layerAt(hit.cell->row);
  if (document == nullptr || !answer.result || !layer) return {};
  const auto& cells = std::get<HeatmapPanel>(map->panels[hit.panel].content).values;
  return u"%1: %2, layer %3: %4 %5"_s
      .arg(document->label, tokenName(answer.result->texts, hit.cell->col))
      .arg(*layer + preferences_.layer_base)
      .arg(content_.title.toLower())
      .arg(cells(hit.cell->row, hit.cell->col), 0, 'g', 4);
}

QStringList TokenMap::commandLines(const QString& checkpoint,
                                   const QStringList& figure_options) const {
  QStringList measure{"lime-metrics", "tokens"}, labels;
  for (const int id : documents_) {
    const Document* const document = workspace_.find(id);
    if (document == nullptr) continue;
    measure << toQString(document->path);
    labels << workspace_.uniqueLabel(*document);
  }
  measure << "--label" << labels << "--site" << toQString(content_.site) << "--sequence"
          << QString::number(content_.sequence);
  if (!checkpoint.isEmpty()) measure << "--checkpoint" << checkpoint;
  return {
      shellLine(measure << QStringList{"-o", "tokens.json"}),
      shellLine(QStringList{"lime-figure", "tokens.json", "--measure", toQString(content_.measure)}
                << figure_options << QStringList{"-o", "tokens.pdf"})};
}

}  // namespace lime::explorer

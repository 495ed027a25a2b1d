// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTableView>
#include <algorithm>
#include <cmath>

#include "explorer/models/figure_or_message.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/text_view.h"
#include "explorer/views/theme.h"
#include "explorer/views/token_text.h"
#include "store/capture_reader.h"
#include "viz/colour.h"

namespace lime::explorer {
namespace {

const QString kNoText = QStringLiteral(
    "No capture of whole sequences is open.\n\nOpen a capture.h5 that lime-capture wrote without "
    "--only and with a row per token: its sentences are shown token by token.");
const QString kNoPattern = QStringLiteral(
    "This capture holds no attention patterns.\n\nCapture again with lime-capture --sites "
    "values,hidden,attn.hook_pattern: a number per head and key for every token.");

const TokenMeasureName& measureCalled(const std::string& key) {
  const std::vector<TokenMeasureName>& all = tokenMeasures();
  return *std::find_if(all.begin(), all.end(),
                       [&](const TokenMeasureName& one) { return key == one.key; });
}

QColor groundOf(double value, const std::pair<double, double>& range, bool is_signed) {
  const double width = range.second - range.first;
  const double position = width > 0.0 ? (value - range.first) / width : 0.5;
  const Colour colour =
      map_colour(is_signed ? MapPalette::kBlueRed : MapPalette::kViridis, position);
  return {colour.red, colour.green, colour.blue};
}

}  // namespace

QString TextView::emptyMessage() const {
  if (capture() == nullptr) return kNoText;
  return measurements_.isMeasuring() ? QStringLiteral("Measuring ...")
                                     : QStringLiteral("Nothing could be measured.");
}

void TextView::draw() {
  const FigureStyle style = screenStyle(*this, preferences());
  for (FigurePane* const pane : {map_, pattern_, routed_}) pane->plot().setFigureStyle(style);
  map_->setVisible(!showsAttention());
  attention_panes_->setVisible(showsAttention());
  heads_bar_->setVisible(showsAttention());
  listLayers();
  drawMap();
  drawText();
  drawAttention();
  QStringList lines;
  for (const int id : measurements_.documents()) {
    const QString& problem = measurements_.tokens(id).problem;
    const Document* const document = workspace().find(id);
    if (document == nullptr || problem.isEmpty()) continue;
    lines << QStringLiteral("%1: %2").arg(document->label, problem);
  }
  const Answer<SequenceTokens>* const own =
      capture() == nullptr ? nullptr : &measurements_.tokens(capture()->id);
  if (own != nullptr && own->result && own->result->checkpoint.empty()) {
    lines << QStringLiteral(
        "The capture's tokenizer is not at hand: open its checkpoint to see "
        "words in place of ids.");
  }
  const QString note = tokensNote();
  if (!note.isEmpty()) lines << note;
  problems_->setText(lines.join(QLatin1Char('\n')));
  problems_->setVisible(!lines.isEmpty());
  const QModelIndex row = filter_.mapFromSource(sentences_.index(sequence_, 0));
  if (row.isValid() && list_->currentIndex().row() != row.row()) {
    const QSignalBlocker quiet(list_->selectionModel());
    list_->setCurrentIndex(row);
  }
  list_->viewport()->update();
  rememberState();
  Q_EMIT figureChanged();
}

void TextView::drawMap() {
  std::vector<FigureSource> sources;
  map_documents_.clear();
  for (const int id : measurements_.documents()) {
    const Answer<SequenceTokens>& answer = measurements_.tokens(id);
    const Document* const document = workspace().find(id);
    if (!answer.result || document == nullptr) continue;
    FigureSource source{document->path, answer.result->results};
    // Two captures of one name stay apart.
    std::string label = document->label.toStdString();
    if (!map_documents_.empty()) label += std::string(map_documents_.size(), ' ');
    for (Json& row : source.results.rows) row["label"] = label;
    sources.push_back(std::move(source));
    map_documents_.push_back(id);
  }
  FigureOptions options;
  options.layer_base = preferences().layer_base;
  options.mixed_texts = true;
  options.measure = {measure()};
  auto [figure, message] = figureOrMessage(sources, options);
  map_->plot().setMessage(message.isEmpty() ? emptyMessage() : message);
  map_->setCaption(figure ? QStringLiteral("%1 of each token in each layer, sequence %2")
                                .arg(measure_->currentText())
                                .arg(sequence_)
                          : QString());
  map_->plot().setFigure(std::move(figure));
  map_->plot().linkAllPanels(workspace(), QStringLiteral("token"));
  mark();
}

void TextView::drawText() {
  const Document* const document = capture();
  std::vector<TokenText::Token> shown;
  const std::optional<int> now = layer();
  if (document != nullptr && now) {
    const Answer<SequenceTokens>& answer = measurements_.tokens(document->id);
    if (answer.result) {
      const std::vector<std::optional<double>> values =
          valuesOfLayer(*answer.result, measure(), *now);
      const Figure* const map = map_->plot().figure();
      const std::pair<double, double> range =
          map != nullptr ? colour_range_of(*map) : std::pair(0.0, 1.0);
      for (std::size_t i = 0; i < answer.result->texts.size(); ++i) {
        QColor ground;
        if (i < values.size() && values[i]) {
          ground = groundOf(*values[i], range, measureCalled(measure()).is_signed);
        }
        shown.push_back({answer.result->texts[i], ground});
      }
    }
  }
  text_->setTokens(std::move(shown));
  text_->setCurrent(token());
}

void TextView::mark() {
  const Figure* const map = map_->plot().figure();
  std::vector<FigureMark> marks;
  const std::vector<int> all = layers();
  const std::optional<int> now = layer();
  const auto row = now ? std::find(all.begin(), all.end(), *now) : all.end();
  for (std::size_t p = 0; map != nullptr && p < map->panels.size() && row != all.end(); ++p) {
    const auto at = static_cast<double>(row - all.begin());
    const auto& cells = std::get<MapPanel>(map->panels[p].content).values;
    marks.push_back({.panel = p,
                     .area = QRectF(-0.5, at - 0.5, static_cast<double>(cells.cols()), 1.0),
                     .is_strong = false});
    if (token() >= 0) {
      marks.push_back({.panel = p, .area = QRectF(token() - 0.5, at - 0.5, 1.0, 1.0)});
    }
  }
  map_->plot().setMarks(std::move(marks));
}

void TextView::listHeads() {
  const Answer<AttentionExploration>& answer = measurements_.attention();
  const int count = answer.result ? static_cast<int>(answer.result->num_heads()) : 0;
  heads_->setEnabled(count > 0 && showsAttention());
  if (count == 0) return;
  head_ = std::clamp(head_, 0, count - 1);
  if (heads_->count() != count) {
    heads_->clear();
    for (int h = 0; h < count; ++h) heads_->addItem(QString::number(h), h);
  }
  chooseData(*heads_, head_);
}

void TextView::drawAttention() {
  listHeads();
  const Document* const document = capture();
  const Answer<AttentionExploration>& answer = measurements_.attention();
  const Answer<SequenceTokens>* const tokens =
      document == nullptr ? nullptr : &measurements_.tokens(document->id);
  if (!showsAttention() || !answer.result || tokens == nullptr || !tokens->result) {
    const bool lacks =
        document != nullptr && layer() && !document->capture->has(kPatternSite, *layer());
    pattern_->plot().setMessage(document == nullptr         ? kNoText
                                : lacks                     ? kNoPattern
                                : !answer.problem.isEmpty() ? answer.problem
                                                            : QStringLiteral("Reading ..."));
    pattern_->plot().setFigure(std::nullopt);
    pattern_->setCaption({});
    measurements_.lookAtQuery(std::nullopt);
    drawRouted();
    return;
  }
  const QString summary =
      QStringLiteral("Head %1: %2").arg(head_).arg(headSummary(*answer.result, head_));
  pattern_->setCaption(QStringLiteral("Attention of head %1 in layer %2")
                           .arg(head_)
                           .arg(answer.result->layer + preferences().layer_base),
                       summary + QStringLiteral("\n\n") + headSummaryHelp());
  heads_->setToolTip(summary + QStringLiteral("\n\n") + headSummaryHelp());
  pattern_->plot().setFigure(patternFigure(*answer.result, head_, tokens->result->texts));
  const auto count = static_cast<double>(tokens->result->texts.size());
  pattern_->plot().setMarks(
      {{.panel = 0, .area = QRectF(-0.5, count - 1.5 - query(), count, 1.0), .is_strong = false}});
  measurements_.lookAtQuery(TextMeasurements::Query{head_, query()});
  drawRouted();
}

void TextView::drawRouted() {
  const Document* const document = capture();
  const Answer<RoutedAttention>& answer = measurements_.routed();
  const Answer<AttentionExploration>& attention = measurements_.attention();
  if (!answer.result || !attention.result || document == nullptr) {
    routed_->plot().setMessage(answer.job != 0 ? QStringLiteral("Following the routers ...")
                                               : answer.problem);
    routed_->plot().setFigure(std::nullopt);
    routed_->setCaption({});
    return;
  }
  const SequenceTokens& tokens = *measurements_.tokens(document->id).result;
  routed_->setCaption(QStringLiteral("Which buffers %1 reads (routed head %2, %3)")
                          .arg(tokenName(query()))
                          .arg(attention.result->routed_head(head_))
                          .arg(answer.result->of_values
                                   ? QStringLiteral("by its values")
                                   : QStringLiteral("by the text's mean values")));
  routed_->plot().setFigure(
      routedAttentionFigure(*answer.result, query(), tokens.texts, preferences().layer_base));
}

}  // namespace lime::explorer

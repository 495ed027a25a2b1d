// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/attention_panes.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QRectF>
#include <algorithm>
#include <optional>

#include "explorer/text/attention_figures.h"
#include "explorer/text/sequence_tokens.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {

AttentionPanes::AttentionPanes(const TextMeasurements& measurements)
    : measurements_(measurements),
      heads_bar_(new QWidget),
      pattern_(new FigurePane(u"attention pattern"_s)),
      routed_(new FigurePane(u"routed attention"_s)) {
  auto* const heads = new QHBoxLayout(heads_bar_);
  heads->setContentsMargins(0, 0, 0, 0);
  heads_ = addChoiceBox(*heads, u"&Head"_s, u"Attention head"_s);
  pattern_->plot().setKeepsAspect(true);
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Horizontal, {pattern_, routed_}, {400, 440}));
  connect(heads_, &QComboBox::activated, this, [this] {
    head_ = heads_->currentData().toInt();
    Q_EMIT headSelected();
  });
  pattern_->plot().setDescriber([this](const FigureHit& hit) { return describePattern(hit); });
  routed_->plot().setDescriber([this](const FigureHit& hit) { return describeRouted(hit); });
  connect(&pattern_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (head_ == kAllHeads) {
      head_ = static_cast<int>(hit.panel);
      Q_EMIT headSelected();
      return;
    }
    if (hit.cell) Q_EMIT tokenSelected(static_cast<int>(texts_.size()) - 1 - hit.cell->row);
  });
  connect(&routed_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) Q_EMIT tokenSelected(hit.cell->col);
  });
}

void AttentionPanes::listHeads(bool is_shown) {
  const Answer<AttentionPatterns>& answer = measurements_.attention();
  const int count = answer.result ? static_cast<int>(answer.result->num_heads()) : 0;
  heads_->setEnabled(count > 0 && is_shown);
  if (count == 0) return;
  head_ = std::clamp(head_, kAllHeads, count - 1);
  if (heads_->count() != count + 1) {
    heads_->clear();
    for (int h = kAllHeads; h < count; ++h) heads_->addItem(u"all"_s, h);
  }
  for (int h = 0; h < count; ++h) heads_->setItemText(h + 1, QString::number(h + layer_base_));
  selectData(*heads_, head_);
  heads_->setToolTip(head_ == kAllHeads ? u"Patterns of all heads; click one to enlarge it"_s
                                        : headSummary(*answer.result, head_, layer_base_));
}

void AttentionPanes::drawPattern(const std::vector<QString>& texts, const QString& message,
                                 int query, int layer_base) {
  texts_ = texts;
  query_ = query;
  layer_base_ = layer_base;
  if (texts.empty()) {
    pattern_->show(std::nullopt, message);
    return;
  }
  const AttentionPatterns& attention = *measurements_.attention().result;
  if (head_ == kAllHeads) {
    pattern_->show(patternsFigure(attention, texts, layer_base), {},
                   u"Attention of all heads in layer %1. Click a head to enlarge it"_s.arg(
                       attention.layer + layer_base));
    return;
  }
  pattern_->show(patternFigure(attention, head_, texts), {},
                 u"Attention of head %1 in layer %2"_s.arg(head_ + layer_base)
                     .arg(attention.layer + layer_base),
                 headSummary(attention, head_, layer_base));
  const auto count = static_cast<double>(texts.size());
  pattern_->plot().setMarks(
      {{.panel = 0, .area = QRectF(-0.5, count - 1.5 - query, count, 1.0), .is_strong = false}});
}

void AttentionPanes::drawRouted() {
  const Answer<RoutedAttention>& answer = measurements_.routed();
  const Answer<AttentionPatterns>& attention = measurements_.attention();
  routed_->setVisible(head_ != kAllHeads);
  if (!answer.result || !attention.result || texts_.empty() || head_ == kAllHeads) {
    routed_->show(std::nullopt,
                  answer.job != 0 ? u"Computing routed attention ..."_s : answer.problem);
    return;
  }
  routed_->show(
      routedAttentionFigure(*answer.result, query_, texts_, layer_base_), {},
      u"Buffered layers read by %1 (head %2, %3)"_s.arg(tokenName(texts_, query_))
          .arg(attention.result->routed_head(head_) + layer_base_)
          .arg(answer.result->of_values ? u"by its values"_s : u"by the RMS of the values"_s));
}

QString AttentionPanes::describePattern(const FigureHit& hit) const {
  const Answer<AttentionPatterns>& answer = measurements_.attention();
  if (!answer.result || !hit.cell) return {};
  const std::size_t head = head_ == kAllHeads ? hit.panel : static_cast<std::size_t>(head_);
  if (head_ == kAllHeads)
    return headSummary(*answer.result, static_cast<std::int64_t>(head), layer_base_)
        .section(u'\n', 0, 0);
  const MatrixF& pattern = answer.result->patterns[head];
  const auto query = static_cast<int>(pattern.rows()) - 1 - hit.cell->row;
  return u"%1 attends to %2 with %3; click to follow it through the routers"_s
      .arg(tokenName(texts_, query), tokenName(texts_, hit.cell->col))
      .arg(static_cast<double>(pattern(query, hit.cell->col)), 0, 'f', 4);
}

QString AttentionPanes::describeRouted(const FigureHit& hit) const {
  const Answer<RoutedAttention>& answer = measurements_.routed();
  if (!answer.result || !hit.cell) return {};
  const MatrixD& shares = answer.result->shares;
  return u"%1 in buffered layer %2: %3% of the input; the whole layer: %4%"_s
      .arg(tokenName(texts_, hit.cell->col))
      .arg(hit.cell->row + layer_base_)
      .arg(100.0 * shares(hit.cell->row, hit.cell->col), 0, 'f', 2)
      .arg(100.0 * shares.row(hit.cell->row).sum(), 0, 'f', 1);
}

}  // namespace lime::explorer

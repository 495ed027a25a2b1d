// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/attention_figures.h"

#include <string>
#include <utility>

#include "explorer/models/text.h"
#include "viz/recipes/attention_figures.h"

namespace lime::explorer {
namespace {

std::vector<std::string> utf8Of(const std::vector<QString>& texts) {
  std::vector<std::string> all;
  for (const QString& text : texts) all.push_back(text.toStdString());
  return all;
}

}  // namespace

Figure patternFigure(const AttentionPatterns& attention, std::int64_t head,
                     const std::vector<QString>& texts) {
  const MatrixF& pattern = attention.patterns[static_cast<std::size_t>(head)];
  return figure_of_attention({attention_panel(pattern.cast<double>(), utf8Of(texts))});
}

Figure patternsFigure(const AttentionPatterns& attention, const std::vector<QString>& texts,
                      int layer_base) {
  std::vector<FigurePanel> panels;
  for (std::int64_t head = 0; head < attention.num_heads(); ++head) {
    panels.push_back(std::move(patternFigure(attention, head, texts).panels.front()));
    panels.back().title = "head " + std::to_string(head + layer_base);
  }
  Figure figure = figure_of_attention(std::move(panels));
  figure.columns = columns_for(figure.panels.size(), 0);
  thin_out_labels(figure);
  return figure;
}

Figure routedAttentionFigure(const RoutedAttention& routed, std::int64_t query,
                             const std::vector<QString>& texts, int layer_base) {
  return figure_of_routed_attention(
      {routed_attention_panel(routed.shares, query, utf8Of(texts), layer_base)});
}

QString headSummary(const AttentionPatterns& attention, std::int64_t head, int layer_base) {
  const Eigen::RowVectorXd mean = summarize_head(attention, head);
  const auto percent = [](double fraction) { return QString::number(100.0 * fraction, 'f', 0); };
  return u"Head %1: entropy %2 nats (%3 keys), %4 tokens back; first %5%, previous %6%, own %7 "
         u"%\n\nMeans over the queries of the sequence from the second on, as in lime-metrics "
         u"attention.\nEntropy: -sum a ln a of a query's attention (Ghader & Monz 2017); its "
         u"exponential is the number of equally weighted keys with that entropy.\nTokens back: sum "
         u"a (query - key) (Vig & Belinkov 2019).\nFirst: attention to the first token, an "
         u"attention sink if large (Xiao et al. 2023); previous and own: to the previous token and "
         u"to the token itself (Clark et al. 2019)"_s.arg(head + layer_base)
             .arg(mean(0), 0, 'f', 2)
             .arg(mean(1), 0, 'f', 1)
             .arg(mean(2), 0, 'f', 1)
             .arg(percent(mean(3)), percent(mean(4)), percent(mean(5)));
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

#include "explorer/text/text_measurements.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure_hit.h"

class QComboBox;

namespace lime::explorer {

/// Shows the attention pattern of a head, or of all heads as small multiples, and the buffered
/// layers that a query reads through the router.
class AttentionPanes : public QWidget {
  Q_OBJECT

 public:
  explicit AttentionPanes(const TextMeasurements& measurements);

  FigurePane& pattern() { return *pattern_; }
  FigurePane& routed() { return *routed_; }
  QWidget* headsBar() { return heads_bar_; }  ///< to be placed by the owner
  int head() const { return head_; }          ///< kAllHeads: all of the layer
  void setHead(int head) { head_ = head; }
  static constexpr int kAllHeads = -1;
  /// Lists the heads of the attention that is known.
  void listHeads(bool is_shown);
  /// Draws the pattern, or without `texts` shows `message`. @param texts  of the tokens
  void drawPattern(const std::vector<QString>& texts, const QString& message, int query,
                   int layer_base);
  void drawRouted();

 Q_SIGNALS:
  void tokenSelected(int token);
  void headSelected();

 private:
  QString describePattern(const FigureHit& hit) const;
  QString describeRouted(const FigureHit& hit) const;

  const TextMeasurements& measurements_;
  std::vector<QString> texts_;
  int head_ = 0;
  int query_ = 0;
  int layer_base_ = 0;
  QWidget* heads_bar_;
  QComboBox* heads_;
  FigurePane* pattern_;
  FigurePane* routed_;
};

}  // namespace lime::explorer

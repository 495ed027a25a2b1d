// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/text/text_measurements.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {

/// Shows the tokens of a sequence in all layers as a heatmap, a panel per capture.
class TokenMap : public FigurePane {
  Q_OBJECT

 public:
  /// Names the values that are shown.
  struct Content {
    std::string site;
    std::string measure;  ///< of tokenMeasures()
    QString title;        ///< of the measure
    int sequence = 0;
    std::vector<int> layers;  ///< of the rows
  };

  TokenMap(const TextMeasurements& measurements, Workspace& workspace,
           const Preferences& preferences);

  /// Draws the known values of `content`; without any, shows why, or else `message`.
  void draw(Content content, const QString& message);
  /// Marks a layer, and a token in it; -1: none.
  void mark(std::optional<int> layer, int token);
  /// Returns the colours of values in the heatmap; invalid for an absent value.
  std::vector<QColor> coloursOf(const std::vector<std::optional<double>>& values) const;
  /// Returns the commands that draw the heatmap. @param checkpoint  of the tokenizer; empty: none
  QStringList commandLines(const QString& checkpoint, const QStringList& figure_options) const;

 Q_SIGNALS:
  void cellSelected(int token, std::optional<int> layer);

 private:
  std::optional<int> layerAt(int row) const;
  QString describe(const FigureHit& hit) const;

  const TextMeasurements& measurements_;
  Workspace& workspace_;
  const Preferences& preferences_;
  Content content_;
  std::vector<int> documents_;  ///< of the panels
};

}  // namespace lime::explorer

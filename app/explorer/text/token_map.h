// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "explorer/models/preferences.h"
#include "explorer/text/text_measurements.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure_hit.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

class Workspace;

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

    bool operator==(const Content&) const = default;
  };

  TokenMap(const TextMeasurements& measurements, Workspace& workspace,
           const Preferences& preferences);

  /// Draws the known values of `content`; without any, shows why, or else `message`.
  void draw(Content content, const QString& message);
  /// Marks a layer, and a token in it; -1: none.
  void mark(std::optional<int> layer, int token);
  /// Returns tokens in the colours of their values in the heatmap, without texts; an absent value
  /// has no colour.
  std::vector<TextToken> coloured(const std::vector<std::optional<double>>& values) const;
  /// Returns the commands that draw the heatmap. @param checkpoint  of the tokenizer; empty: none
  QStringList commandLines(const QString& checkpoint, const QStringList& figure_options) const;

 Q_SIGNALS:
  void cellSelected(int token, std::optional<int> layer);

 private:
  /// What a heatmap is drawn of.
  struct Drawn {
    Content content;
    QString message;
    int layer_base = 0;
    /// Capture, label and revision of each sequence.
    std::vector<std::tuple<std::shared_ptr<const CaptureReader>, QString, int>> parts = {};

    bool operator==(const Drawn&) const = default;
  };

  std::optional<int> layerAt(int row) const;
  QString describe(const FigureHit& hit) const;

  const TextMeasurements& measurements_;
  Workspace& workspace_;
  const Preferences& preferences_;
  Content content_;
  std::optional<Drawn> drawn_;
  std::vector<int> documents_;  ///< of the panels
};

}  // namespace lime::explorer

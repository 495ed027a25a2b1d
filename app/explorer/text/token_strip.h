// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

#include "explorer/models/preferences.h"
#include "explorer/text/pinned_token.h"
#include "explorer/text/sequence_tokens.h"
#include "explorer/text/text_measurements.h"
#include "explorer/widgets/figure_pane.h"

class QLabel;
class QTableView;

namespace lime::explorer {

/// Shows the pinned token of a sequence through all layers, as the open captures contain it: its
/// lens, attention, sources and experts. Hidden without one.
class TokenStrip : public QWidget {
  Q_OBJECT

 public:
  TokenStrip(TextMeasurements& measurements, Workspace& workspace, const Preferences& preferences);

  FigurePane& pane() { return *pane_; }
  /// Returns the pinned token of the sequence; -1: none.
  int token() const { return token_; }
  void setToken(int token) { token_ = token; }
  /// Reads the token, as far as it is not known, and draws it.
  /// @param tokens  of the sequence; null while they are not known
  void draw(const SequenceTokens* tokens);
  QStringList commandLines(int sequence) const;

 Q_SIGNALS:
  /// The user selected a layer, in the list of its neighbours.
  void layerSelected(int layer);

 private:
  std::vector<PinnedIn> known(QString& problem) const;
  void listLayers();

  TextMeasurements& measurements_;
  Workspace& workspace_;
  const Preferences& preferences_;
  int token_ = -1;
  std::optional<PinnedFigure> shown_;
  FigurePane* pane_;
  PinnedLayersModel layers_;
  QTableView* table_;
  QLabel* missing_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QTabBar>
#include <optional>
#include <string>
#include <vector>

#include "explorer/models/capture_rows.h"
#include "explorer/models/document.h"
#include "explorer/text/sequence_tokens.h"
#include "explorer/text/text_measurements.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/view.h"

class QComboBox;
class QLabel;
class QWidget;

namespace lime::explorer {

class AttentionPanes;
class LayerStepper;
class SequenceList;
class TokenMap;
class TokenStrip;
class TokenText;

/// Shows one sequence token by token: coloured by a measure in one layer, in all layers as a
/// heatmap, and its attention, where the capture contains patterns; the pinned token with all that
/// the captures contain of it.
class TextView : public View {
  Q_OBJECT

 public:
  explicit TextView(const ViewContext& context);

  /// Returns whether a document is a capture with a row for every token.
  static bool shows(const Document& document);

  /// Returns the figure of the active pane, or of another visible one.
  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  QString obstacle(const Document& document) const override {
    return document.capture && !shows(document)
               ? u"it does not contain every token of its sequences"_s
               : QString();
  }
  Json state() const override;
  void setState(const Json& state) override;
  std::string subjectName() const override { return "capture"; }
  std::vector<Shortcut> shortcuts() const override;

 protected:
  void shown() override { refresh(); }
  void paletteChanged() override { draw(); }

 private:
  QWidget* makeControls();
  QWidget* makeLower();
  void connectAll();
  void connectControls();
  void addActions();
  void refresh();
  void listCaptures();
  void listSites();
  void listLayers();
  const Document* capture() const;
  const SequenceTokens* tokens() const;  ///< of capture(), null while they are not known
  std::string site() const { return selectedName(*site_); }
  std::string measureName() const { return selectedName(*measure_); }
  bool showsAttention() const { return lower_kind_->currentIndex() == 1; }
  std::vector<int> layers() const;
  /// Returns the selected layer, or the nearest one that the capture has.
  std::optional<int> layer() const;
  void measure();
  void draw();
  void drawMap();
  void drawText();
  void drawAttention();
  void drawPinned();
  /// Pins a token of the sequence, in place of the one that is; -1: none.
  void pin(int token);
  void listProblems();
  void selectSequence(int sequence);
  /// Returns the selection with a token of the sequence as the only one.
  Selection selectionOf(int token) const;
  void selectToken(int token);
  void onSelectionChanged();
  /// Returns the rows of the selected tokens in the capture; none until they are known.
  const TokenRows::Found& selectedTokens() const;
  int token() const;  ///< the selected token of the sequence; -1: none, or several
  int query() const;  ///< the token whose attention is followed: the selected one, or the last
  QString emptyMessage() const;

  TextMeasurements measurements_;
  mutable CaptureRows rows_;
  int sequence_ = 0;
  int pinned_ = -1;             ///< token of the sequence; -1: none
  TokenSelection last_tokens_;  ///< selection that was last scrolled to

  QComboBox* capture_;
  QComboBox* site_;
  QComboBox* measure_;
  LayerStepper* layer_slider_;
  QLabel* problems_;
  SequenceList* sequences_;
  TokenText* text_;
  QTabBar* lower_kind_;
  TokenMap* map_;
  AttentionPanes* attention_;
  TokenStrip* strip_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSortFilterProxyModel>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "explorer/models/capture_rows.h"
#include "explorer/models/sentences_model.h"
#include "explorer/models/text_measurements.h"
#include "explorer/views/view.h"
#include "viz/figure_hit.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;
class QTabBar;
class QTableView;

namespace lime::explorer {

class FigurePane;
class TokenText;

/// One sequence token by token: its tokens in the colours of a layer, all layers as a map, and what
/// they attend to, where the capture has that.
class TextView : public View {
  Q_OBJECT

 public:
  TextView(const ViewContext& context, QWidget* parent);

  /// That of the pane last worked with.
  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  Json state() const override;
  void setState(const Json& state) override;
  std::vector<Habit> habits() const override;
  void zoom(double factor) override;
  void showAll() override;

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QWidget* makeBar();
  QWidget* makeSentences();
  QWidget* makeText();
  QWidget* makeLower();
  void connectAll();
  void connectControls();
  void connectPanes();
  void addActions();
  void documentsChanged();
  void listCaptures();
  void listSites();
  void listLayers();
  const Document* capture() const;
  std::string site() const;
  std::string measure() const;
  bool showsAttention() const;
  /// The layer that is shown: the selected one, or the nearest that there is.
  std::optional<int> layer() const;
  std::vector<int> layers() const;
  void look();
  void lookAtAttention();
  void draw();
  void drawText();
  void drawMap();
  void drawAttention();
  void drawRouted();
  void mark();
  void listHeads();
  void chooseSequence(int sequence);
  /// The selection with this token of the sequence as the only one.
  Selection selectionOf(int token) const;
  void chooseToken(int token);
  void chooseLayer(int layer);
  void walkLayers(int step);
  void hearSelection();
  void activate(FigurePane* pane);
  /// Where the selected tokens are in the capture that is shown; nothing while that is found out.
  const TokenRows::Found& chosenTokens() const;
  /// Why selected tokens are not seen, or nothing.
  QString tokensNote() const;
  /// The chosen token of the sequence; -1: none, or several.
  int token() const;
  /// The query whose attention is followed: the chosen token, or the last one.
  int query() const;
  QString emptyMessage() const;
  QString describeToken(int token) const;
  QString describeCell(const FigureHit& hit) const;
  QString describePattern(const FigureHit& hit) const;
  QString describeRouted(const FigureHit& hit) const;
  QString tokenName(int token) const;

  TextMeasurements measurements_;
  mutable CaptureRows rows_;
  SentencesModel sentences_;
  QSortFilterProxyModel filter_;
  int sequence_ = 0;
  int head_ = 0;
  bool is_filtering_ = false;
  QComboBox* capture_;
  QComboBox* site_;
  QComboBox* measure_;
  QComboBox* heads_;
  QWidget* heads_bar_;
  QLabel* layer_label_;
  QSlider* layer_slider_;
  QLineEdit* search_;
  QTableView* list_;
  QLabel* problems_;
  TokenText* text_;
  QTabBar* lower_kind_;
  QWidget* attention_panes_;
  FigurePane* map_;
  FigurePane* pattern_;
  FigurePane* routed_;
  FigurePane* active_;
  std::vector<int> map_documents_;  ///< of the map's panels
  TokenSelection heard_tokens_;     ///< selected when last gone to
  /// What chosenTokens() found last, and of what.
  struct Chosen {
    std::shared_ptr<const CaptureReader> capture;
    TokenSelection tokens;
    TokenRows::Found found;
  };
  mutable Chosen chosen_;
};

ViewKind textViewKind();

}  // namespace lime::explorer

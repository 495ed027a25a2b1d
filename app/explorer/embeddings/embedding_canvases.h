// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/embeddings/embedding_set.h"
#include "explorer/models/table_model.h"

class QGridLayout;
class QPropertyAnimation;
class QSlider;
class QToolButton;

namespace lime::explorer {

class EmbeddingCanvas;
struct EmbeddingWindow;

/// Slider over layers that can stop between two layers and can animate.
class LayerSlider : public QWidget {
  Q_OBJECT

 public:
  LayerSlider();

  /// @param layer_base  number of the first layer in the label
  void setLayers(std::vector<int> layers, int layer_base);
  /// Replaces the layers; the current one stays, if it is among them.
  void updateLayers(const std::vector<int>& layers);
  const std::vector<int>& layers() const { return layers_; }
  /// Returns the nearest layer; 0 without layers.
  int current() const;
  /// Returns the layer `step` layers beyond `layer`, within the ends. There must be layers.
  int neighbour(int layer, int step) const;

  /// A position between two layers.
  struct Position {
    std::size_t before = 0;  ///< into layers()
    std::size_t after = 0;
    float fraction = 0.0F;  ///< of the way from `before` to `after`
  };
  Position position() const;

  /// @return false  if there is no such layer
  bool moveTo(int layer);  ///< takes half a second
  bool jumpTo(int layer);  ///< without signals
  /// Moves from the first layer to the last, or stops.
  void play();
  bool isPlaying() const;

 Q_SIGNALS:
  void moved();
  /// The user selected a layer, with the slider at it.
  void layerSelected(int layer);
  /// The user dropped the slider near a layer.
  void released(int layer);
  void playRequested();

 private:
  int placeOf(int layer) const;  ///< -1: none
  void animate(int from, int to, int num_layers);

  std::vector<int> layers_;
  int layer_base_ = 0;
  QToolButton* play_;
  QLabel* label_;
  QSlider* slider_;
  QPropertyAnimation* animation_;
  bool is_playing_ = false;
};

/// Shows the embeddings of a set in a grid, a canvas per model.
class EmbeddingCanvases : public QWidget {
  Q_OBJECT

 public:
  EmbeddingCanvases();

  /// Makes a canvas per model. @param set  must outlive its use here
  void setSet(const EmbeddingSet& set, const std::string& site);
  /// Takes over that the coordinates of the set changed. @return false  if its points did, too
  bool updateSet(const std::string& site);
  const std::string& site() const { return site_; }
  /// Sets the text that is shown without embeddings.
  void setMessage(const QString& message) { message_->setText(message); }
  /// Moves the points to a place between two of `layers`.
  void placePoints(const std::vector<int>& layers, const LayerSlider::Position& position,
                   int shown_layer);
  /// Colours the points. @return the legend as HTML
  QString colourPoints(const EmbeddingGroups& groups, const QString& colour_name);
  void select(const TokenSelection& tokens);
  /// Ties points of model `model` to their neighbours in every canvas.
  void setCentre(std::size_t model, int point, const std::vector<int>& neighbours);
  void removeCentre();

  const std::vector<EmbeddingCanvas*>& all() const { return canvases_; }
  /// Returns the model whose canvas has the focus, or `otherwise`.
  std::size_t active(std::size_t otherwise) const;

 Q_SIGNALS:
  void hovered(std::size_t model, int point);
  void clicked(std::size_t model, int point, Qt::KeyboardModifiers modifiers);
  void lassoed(std::size_t model, const std::vector<int>& points, Qt::KeyboardModifiers modifiers);
  void windowChanged(std::size_t model, const QString& what,
                     const lime::explorer::EmbeddingWindow& before);

 private:
  void addCanvas(int columns);
  /// Shows the token of a point at it; -1: hides it.
  void describe(std::size_t model, int point);

  const EmbeddingSet* set_ = nullptr;
  std::string site_;
  std::vector<EmbeddingCanvas*> canvases_;
  QGridLayout* grid_;
  QLabel* message_;
};

class SelectedTokensModel : public TableModel<SelectedToken> {
 public:
  enum Column { kToken, kNote, kSentence, kColumns };

  SelectedTokensModel() { setTokens({}, u"Class"_s); }

  void setTokens(std::vector<SelectedToken> tokens, const QString& note_title);
};

/// Lists tokens of an embedding in their sentences: the selected ones, or the neighbours of one.
class TokenList : public QWidget {
  Q_OBJECT

 public:
  TokenList();

  const SelectedTokensModel& tokens() const { return tokens_; }
  /// Returns the model that the listed points belong to.
  std::size_t model() const { return model_; }
  void setModel(std::size_t model) { model_ = model; }

  /// Lists the tokens of the selection that are points of model(), or of the first model with some.
  void showSelection(const EmbeddingSet& set, const TokenSelection& selected);
  /// Lists the neighbours of a point. @param where  "in the model, by cosine"
  void showNeighbours(const EmbeddingSet& set, std::size_t model, int point,
                      const std::vector<NearRow>& near, const QString& where);
  void showMessage(const QString& message) { title_->setText(message); }

 Q_SIGNALS:
  /// The user requested the neighbours of a listed point.
  void neighboursRequested(std::size_t model, int point);

 private:
  SelectedTokensModel tokens_;
  std::size_t model_ = 0;
  QLabel* title_;
  QTableView* table_;
};

}  // namespace lime::explorer

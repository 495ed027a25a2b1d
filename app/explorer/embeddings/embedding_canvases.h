// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QString>
#include <QWidget>
#include <cstddef>
#include <string>
#include <vector>

#include "explorer/embeddings/embedding_groups.h"
#include "explorer/embeddings/embedding_set.h"
#include "explorer/embeddings/layer_slider.h"
#include "explorer/models/selection.h"

class QGridLayout;

namespace lime::explorer {

class EmbeddingCanvas;
struct EmbeddingWindow;

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

}  // namespace lime::explorer

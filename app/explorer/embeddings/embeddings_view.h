// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "explorer/embeddings/embedding_canvases.h"
#include "explorer/embeddings/embedding_groups.h"
#include "explorer/embeddings/embedding_loader.h"
#include "explorer/embeddings/embedding_set.h"
#include "explorer/embeddings/layer_slider.h"
#include "explorer/embeddings/point_neighbours.h"
#include "explorer/embeddings/token_list.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QWidget;

namespace lime::explorer {

class EmbeddingCanvas;
struct EmbeddingWindow;

/// Shows t-SNE embeddings of each layer, a canvas per model. A lasso selects tokens in all models
/// at once and lists them in their sentences, a click finds neighbours.
class EmbeddingsView : public View {
  Q_OBJECT

 public:
  explicit EmbeddingsView(const ViewContext& context);

  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  std::vector<Shortcut> shortcuts() const override;
  void fill() override { compute(); }
  void zoom(double factor) override;
  void showAll() override;

  /// Returns the canvases in the order of the models.
  const std::vector<EmbeddingCanvas*>& canvases() const { return canvases_->all(); }
  const SelectedTokensModel& tokens() const { return list_->tokens(); }

 protected:
  void shown() override { listSources(); }
  void restored() override;
  void paletteChanged() override { colourPoints(); }

 private:
  QWidget* makeControls();
  void addSettings();
  void connectAll();
  void addActions();
  void addPointActions();
  void listSources();
  void loadSource();
  void updateCompute();
  void showSet();
  void showSite();
  void placePoints();
  void colourPoints();
  void goToLayer(int layer);
  void play();
  void recordWindow(std::size_t model, const QString& what, const EmbeddingWindow& before);
  void select(std::size_t model, const std::vector<int>& points, Qt::KeyboardModifiers modifiers);
  /// Adds a point to the selection, or removes it.
  void toggle(std::size_t model, int point);
  void selectTokens(TokenSelection tokens);
  void selectGroup(int group);  ///< the points of a class or token
  bool isPca() const { return selectedName(*method_) == kPca; }
  EmbeddingColour colour() const;
  TsneOptions tsneOptions() const { return isPca() ? TsneOptions{.iterations = 0} : TsneOptions{}; }
  void compute() { loader_.compute(preferences().threads, tsneOptions()); }
  void showSelection();
  void selectNeighbours(std::size_t model, int point);
  /// Shows the neighbours of the selected point where the embeddings have it, else the selection.
  void showNeighbours();
  void describe(std::size_t model, int point);
  const EmbeddingSet& set() const { return loader_.set(); }
  std::string site() const { return selectedName(*site_); }
  /// Returns the selected document, EmbeddingLoader::kComputed, or 0: none.
  int sourceId() const;

  static constexpr const char* kPca = "pca";  ///< data of method_

  EmbeddingLoader loader_;
  EmbeddingGroups groups_;
  bool is_colour_selected_ = false;  ///< else colour_ is what usualColour() returns
  bool shows_partial_ = false;       ///< the set was incomplete when it was last shown
  std::optional<int> last_layer_;    ///< of the workspace, when it last changed
  QComboBox* source_;
  QPushButton* compute_;
  QComboBox* method_;
  QComboBox* site_;
  QComboBox* colour_;
  QLineEdit* search_;
  LayerSlider* layers_;
  QLabel* problems_;
  QLabel* legend_;
  EmbeddingCanvases* canvases_;
  TokenList* list_;
  PointNeighbours neighbours_;  ///< of a point, listed in place of the selected tokens
};

}  // namespace lime::explorer

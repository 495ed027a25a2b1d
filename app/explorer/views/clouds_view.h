// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/nearest_rows.h"
#include "explorer/models/cloud_colours.h"
#include "explorer/models/cloud_set.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/selected_tokens_model.h"
#include "explorer/views/view.h"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QPropertyAnimation;
class QPushButton;
class QSlider;
class QTableView;

namespace lime::explorer {

class CloudCanvas;
struct CloudWindow;

/// t-SNE of each layer, a cloud per model: a slider walks through the layers, a lasso chooses
/// tokens in all models at once and shows them in their sentences, a click finds neighbours.
class CloudsView : public View {
  Q_OBJECT

 public:
  CloudsView(const ViewContext& context, QWidget* parent);
  ~CloudsView() override;

  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  Json state() const override;
  std::vector<Habit> habits() const override;
  void setState(const Json& state) override;
  void zoom(double factor) override;
  void showAll() override;

  /// Of the models, in the order of the set.
  const std::vector<CloudCanvas*>& canvases() const { return canvases_; }
  const SelectedTokensModel& tokens() const { return tokens_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QWidget* makeBar();
  QWidget* makeList();
  void listSources();
  bool isOutdated() const;
  void loadSource();
  void compute();
  void take(CloudSet set);
  void fail(const QString& error);
  void listSites();
  void makeCanvases();
  void placePoints();
  void colourPoints();
  void placeSlider();
  void play();
  void layerMoved();
  void goToLayer(int layer);
  void selectLayer(int layer);
  void sliderMoved();
  void walkLayers(int step);
  void addActions();
  void recordWindow(std::size_t model, const QString& what, const CloudWindow& before);
  /// The model whose cloud has the focus, or had it last.
  std::size_t activeModel() const;
  void choose(std::size_t model, const std::vector<int>& points, Qt::KeyboardModifiers modifiers);
  /// Chooses the point besides, or no longer.
  void toggle(std::size_t model, int point);
  void chooseTokens(TokenSelection tokens);
  void showSelection();
  void listTokens();
  void chooseNeighbours(std::size_t model, int point);
  /// Those of `centre_`, where the clouds have it.
  void findNeighbours();
  void findNeighboursOf(std::size_t model, int point);
  void showNeighbours(std::size_t model, int point, const std::vector<NearRow>& near,
                      const QString& where);
  std::vector<NearRow> drawnNeighbours(std::size_t model, int point) const;
  SelectedToken tokenOf(std::size_t model, int point) const;
  void describe(std::size_t model, int point);
  CloudSurroundings surroundings() const;
  std::string site() const;
  int currentLayer() const;
  bool isOneText() const;
  std::vector<int> pointsOf(std::size_t model, const TokenSelection& tokens) const;
  TokenSelection tokensOf(std::size_t model, const std::vector<int>& points) const;
  CloudColour colour() const;

  static constexpr int kStepsPerLayer = 100;  // of the slider
  static constexpr int kMoveMs = 500;         // from layer to layer
  static constexpr int kComputed = -1;

  QComboBox* source_;
  QComboBox* site_;
  QComboBox* colour_;
  QPushButton* compute_;
  QSlider* slider_;
  QLabel* layer_label_;
  QLabel* problems_;
  QLabel* legend_;
  QLabel* list_title_;
  QTableView* table_;
  QWidget* clouds_;
  QHBoxLayout* clouds_row_;
  QLabel* message_;
  QPropertyAnimation* animation_;
  SelectedTokensModel tokens_;

  CloudSet set_;
  CloudGroups groups_;
  std::vector<int> layers_;
  std::vector<CloudCanvas*> canvases_;
  int loaded_ = 0;  ///< document that the set is of; 0: none; or kComputed
  std::shared_ptr<const FigureSource> loaded_results_;  ///< of that document
  CloudSurroundings loaded_with_;
  std::size_t list_model_ = 0;  ///< that the list's points are of
  /// The point whose neighbours are listed, in place of the tokens that are chosen.
  struct Centre {
    QString label;  ///< of the model
    TokenSelection token;
    bool operator==(const Centre&) const = default;
  };
  std::optional<Centre> centre_;
  QList<QAction*> point_actions_;   ///< for the point that the keys have reached
  std::optional<int> heard_layer_;  ///< of the workspace, when it last changed
  JobId job_ = 0;
};

ViewKind cloudsViewKind();

}  // namespace lime::explorer

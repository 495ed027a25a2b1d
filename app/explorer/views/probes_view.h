// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "explorer/models/judgements_filter.h"
#include "explorer/models/judgements_model.h"
#include "explorer/models/probe_figures.h"
#include "explorer/models/probe_measurements.h"
#include "explorer/models/tasks_model.h"
#include "explorer/models/token_rows.h"
#include "explorer/views/view.h"
#include "viz/figure_hit.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QTableView;

namespace lime::explorer {

class FigurePane;

/// What linear probes read from each layer: which word a token is, and which sentence of a minimal
/// pair is good; of the layer that is clicked the confusion matrix and what was judged wrong.
class ProbesView : public View {
  Q_OBJECT

 public:
  ProbesView(const ViewContext& context, QWidget* parent);

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
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeBar();
  QWidget* makeTasks();
  QWidget* makeDetail();
  void connectPanes();
  void addActions();
  ProbeQuestion question() const;
  std::string site() const;
  void choose(const QString& text);
  void documentsChanged();
  void listSources();
  void measure();
  void look();
  void draw();
  void drawCurves();
  void listTasks();
  void drawConfusion();
  /// Frames the cell that is listed, and that which arrows have reached.
  void markCells();
  void markLayer();
  void listProblems();
  void showDetail();
  void activate(FigurePane* pane);
  void clickCurve(const FigureHit& hit);
  void clickTask(const QModelIndex& index);
  void clickCell(const FigureHit& hit);
  /// What arrows, Space and Enter do in the confusion matrix. @return whether it was such a key
  bool walkCells(const QKeyEvent& event);
  void selectLayer(int layer);
  /// Within another step of undo.
  void setLayer(int layer);
  void walkLayers(int step);
  void selectJudgement();
  /// Makes the judgement current whose token is selected, or none.
  void showChosen();
  QString emptyMessage() const;
  QString describeCurve(const FigureHit& hit) const;
  QString describeTask(const QModelIndex& index) const;
  QString describeCell(const FigureHit& hit) const;
  std::optional<ProbeMeasurements::Place> wantedPlace() const;
  const ProbeSource* source() const;

  ProbeMeasurements measurements_;
  std::vector<ProbeSource> sources_;
  std::string task_;  ///< of minimal pairs; empty: all
  /// Cell of the confusion matrix that keys have reached: true and predicted class.
  std::optional<std::pair<int, int>> reached_;
  QComboBox* question_;
  QComboBox* site_;
  QComboBox* model_;
  QComboBox* numbers_;
  QLabel* problems_;
  FigurePane* curves_;
  FigurePane* confusion_;
  FigurePane* active_;  ///< null: the tasks
  QWidget* tasks_pane_;
  QLabel* tasks_title_;
  QTableView* tasks_table_;
  QLabel* detail_title_;
  QCheckBox* wrong_only_;
  QLineEdit* search_;
  QTableView* table_;
  JudgementsModel judgements_;
  JudgementsFilter filter_;
  std::shared_ptr<const CaptureReader> rows_capture_;  ///< that `rows_` are of
  std::unique_ptr<TokenRows> rows_;
  TasksModel tasks_;
  TasksSort tasks_sort_;
};

ViewKind probesViewKind();

}  // namespace lime::explorer

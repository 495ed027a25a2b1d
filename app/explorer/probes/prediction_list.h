// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QModelIndex>
#include <QObject>
#include <QSortFilterProxyModel>
#include <QString>
#include <QVariant>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/models/table_model.h"
#include "explorer/models/token_in_sentence.h"
#include "explorer/models/token_rows.h"
#include "explorer/probes/probe_detail.h"
#include "explorer/widgets/figure_pane.h"

class QCheckBox;
class QEvent;
class QKeyEvent;
class QLabel;
class QLineEdit;
class QTableView;

namespace lime::explorer {

/// Lists the prediction of a probe for each token, or each minimal pair. Texts are looked up when
/// they are shown.
class PredictionsModel : public TableModel<ProbePrediction> {
 public:
  /// The columns of tokens are the true and the predicted class, the probability of the true one,
  /// and the sentence; those of pairs the task, the probabilities that the good and the bad
  /// sentence are good, and both sentences.
  enum Column { kFirst, kSecond, kThird, kSentence, kOther, kColumns };
  enum Role { kSort = kFirstFurtherRole };

  void setDetail(std::shared_ptr<const ProbeDetail> detail);
  const ProbeDetail* detail() const { return detail_.get(); }

  /// Returns the sentence of a token, or both sentences of a pair.
  QString text(int row) const;

 private:
  using Value = std::function<QVariant(const ProbePrediction&)>;
  using Cell = TableColumn<ProbePrediction>;
  std::vector<Cell> tokenColumns();
  std::vector<Cell> pairColumns();
  Cell column(const char* title, const char* help, Value text, Value sorted);
  const TokenInSentence& sentenceOf(const ProbePrediction& prediction) const;
  QString textOf(std::int64_t capture_row) const;
  QString toolTip(const ProbePrediction& prediction) const;

  std::shared_ptr<const ProbeDetail> detail_;
  mutable std::map<std::int64_t, TokenInSentence> sentences_;  ///< by row of the capture
};

class PredictionsFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using Cell = std::pair<int, int>;  ///< of the confusion matrix: true and predicted class

  PredictionsFilter();

  void setMisclassifiedOnly(bool is_on) { change(misclassified_only_, is_on); }
  /// Keeps one cell of the confusion matrix, or all.
  void setCell(const std::optional<Cell>& cell) { change(cell_, cell); }
  const std::optional<Cell>& cell() const { return cell_; }
  /// Keeps rows whose sentences contain `text`.
  void setText(const QString& text) { change(text_, text); }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  template <typename Value> void change(Value& member, const Value& value) {
    member = value;
    invalidateFilter();
  }

  bool misclassified_only_ = true;
  std::optional<Cell> cell_;
  QString text_;
};

/// Lists the predictions of a probe; the user filters them by correctness, cell and sentence.
class PredictionList : public QWidget {
  Q_OBJECT

 public:
  PredictionList();

  /// @param detail  null: shows `message` instead
  void setDetail(std::shared_ptr<const ProbeDetail> detail, const QString& message, int layer_base);
  const std::optional<PredictionsFilter::Cell>& cell() const { return filter_.cell(); }
  void setCell(const std::optional<PredictionsFilter::Cell>& cell) { filter_.setCell(cell); }
  bool isMisclassifiedOnly() const;
  void setMisclassifiedOnly(bool misclassified_only);
  void focusSearch();
  /// Makes the row of a selected token current, or none.
  void showSelected(const TokenSelection& selected);

 Q_SIGNALS:
  void misclassifiedOnlyChanged();
  void tokensSelected(const lime::explorer::TokenSelection& tokens);

 private:
  void setColumns();
  void selectTokens();
  void updateTitle(const QString& message);

  PredictionsModel model_;
  PredictionsFilter filter_;
  int layer_base_ = 0;
  std::unique_ptr<TokenRows> rows_;  ///< of the detail's capture
  std::shared_ptr<const CaptureReader> rows_capture_;
  QLabel* title_;
  QCheckBox* misclassified_only_;
  QLineEdit* search_;
  QTableView* table_;
};

/// Shows the confusion matrix of a probe. A click on a cell selects it, so do arrows and Enter.
class ConfusionPane : public FigurePane {
  Q_OBJECT

 public:
  using Cell = PredictionsFilter::Cell;

  ConfusionPane();

  /// @param detail  null: shows `message` instead
  void draw(std::shared_ptr<const ProbeDetail> detail, bool is_normalised, const QString& message);
  /// Frames the selected cell, and the one that arrows have reached.
  void markCells(const std::optional<Cell>& selected);

 Q_SIGNALS:
  void cellClicked(const lime::explorer::ConfusionPane::Cell& cell);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  std::optional<Cell> cellAt(const FigureHit& hit) const;
  QString describe(const Cell& cell) const;
  /// @return false  if the key does nothing here
  bool walk(const QKeyEvent& event);

  std::shared_ptr<const ProbeDetail> detail_;
  std::optional<Cell> selected_;
  std::optional<Cell> reached_;
};

}  // namespace lime::explorer

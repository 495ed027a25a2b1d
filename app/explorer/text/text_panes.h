// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSortFilterProxyModel>
#include <tuple>

#include "explorer/models/job_runner.h"
#include "explorer/models/table_model.h"
#include "explorer/text/text_measurements.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure.h"

namespace lime {
class CaptureReader;
struct Sequence;
}  // namespace lime

namespace lime::explorer {

/// A sequence of a capture, as the list shows it.
struct SequenceRow {
  int number = 0;
  std::int64_t num_tokens = 0;
};

/// Lists the sequences of a capture, with their texts once showTexts() is called. Sorts by
/// Qt::UserRole.
class SentencesModel : public TableModel<SequenceRow> {
 public:
  enum Column { kNumber, kTokens, kText, kColumns };

  SentencesModel();

  /// @param capture  may be null
  void setCapture(std::shared_ptr<const CaptureReader> capture);
  const std::shared_ptr<const CaptureReader>& capture() const { return capture_; }
  /// Shows the texts. @param sequences  of capture(), which owns them
  void showTexts(const std::vector<Sequence>& sequences);

 private:
  QString textOf(const SequenceRow& row) const;

  std::shared_ptr<const CaptureReader> capture_;
  /// CaptureReader::sequences(), which may wait for readers on other threads; null: not read yet.
  const std::vector<Sequence>* sequences_ = nullptr;
};

/// Lists the sequences of a capture; the user searches and selects them.
class SequenceList : public QWidget {
  Q_OBJECT

 public:
  explicit SequenceList(JobRunner& jobs);

  /// Lists the sequences; a job reads their texts.
  void setCapture(const std::shared_ptr<const CaptureReader>& capture);
  int size() const { return model_.rowCount(); }
  /// Makes a sequence current without sequenceSelected().
  void setCurrent(int sequence);
  void focusSearch();

 Q_SIGNALS:
  void sequenceSelected(int sequence);

 private:
  JobRunner& jobs_;
  SentencesModel model_;
  QSortFilterProxyModel filter_;
  bool is_filtering_ = false;
  int current_ = 0;
  QLineEdit* search_;
  QTableView* table_;
};

/// Shows the attention pattern of a head, or of all heads as small multiples, and the buffered
/// layers that a query reads through the router.
class AttentionPanes : public QWidget {
  Q_OBJECT

 public:
  explicit AttentionPanes(const TextMeasurements& measurements);

  FigurePane& pattern() { return *pattern_; }
  FigurePane& routed() { return *routed_; }
  QWidget* headsBar() { return heads_bar_; }  ///< to be placed by the owner
  int head() const { return head_; }          ///< kAllHeads: all of the layer
  void setHead(int head) { head_ = head; }
  static constexpr int kAllHeads = -1;
  /// Lists the heads of the attention that is known.
  void listHeads(bool is_shown);
  /// Draws the pattern, or without `texts` shows `message`. @param texts  of the tokens
  void drawPattern(const std::vector<QString>& texts, const QString& message, int query,
                   int layer_base);
  void drawRouted();

 Q_SIGNALS:
  void tokenSelected(int token);
  void headSelected();

 private:
  QString describePattern(const FigureHit& hit) const;
  QString describeRouted(const FigureHit& hit) const;

  const TextMeasurements& measurements_;
  std::vector<QString> texts_;
  int head_ = 0;
  int query_ = 0;
  int layer_base_ = 0;
  QWidget* heads_bar_;
  QComboBox* heads_;
  FigurePane* pattern_;
  FigurePane* routed_;
};

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

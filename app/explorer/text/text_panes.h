// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QSortFilterProxyModel>

#include "explorer/models/table_model.h"
#include "explorer/text/text_measurements.h"
#include "explorer/widgets/controls.h"
#include "viz/figure.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

class FigurePane;

/// A sequence of a capture, as the list shows it.
struct SequenceRow {
  int number = 0;
  std::int64_t num_tokens = 0;
};

/// Lists the sequences of a capture; texts are looked up when they are shown. Sorts by
/// Qt::UserRole.
class SentencesModel : public TableModel<SequenceRow> {
 public:
  enum Column { kNumber, kTokens, kText, kColumns };

  SentencesModel();

  /// @param capture  may be null
  void setCapture(std::shared_ptr<const CaptureReader> capture);

 private:
  QString textOf(const SequenceRow& row) const;

  std::shared_ptr<const CaptureReader> capture_;
};

/// Lists the sequences of a capture; the user searches and selects them.
class SequenceList : public QWidget {
  Q_OBJECT

 public:
  SequenceList();

  void setCapture(std::shared_ptr<const CaptureReader> capture);
  int size() const { return model_.rowCount(); }
  /// Makes a sequence current without sequenceSelected().
  void setCurrent(int sequence);
  void focusSearch();

 Q_SIGNALS:
  void sequenceSelected(int sequence);

 private:
  SentencesModel model_;
  QSortFilterProxyModel filter_;
  bool is_filtering_ = false;
  int current_ = 0;
  QLineEdit* search_;
  QTableView* table_;
};

/// Shows the attention pattern of a head, and the buffered layers that a query reads through the
/// router.
class AttentionPanes : public QWidget {
  Q_OBJECT

 public:
  explicit AttentionPanes(const TextMeasurements& measurements);

  FigurePane& pattern() { return *pattern_; }
  FigurePane& routed() { return *routed_; }
  QWidget* headsBar() { return heads_bar_; }  ///< to be placed by the owner
  int head() const { return head_; }
  void setHead(int head) { head_ = head; }
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

/// Shows a text as its tokens, each on a background of its own colour. Arrow keys move from token
/// to token, a click selects one.
class TokenText : public QWidget {
  Q_OBJECT

 public:
  struct Token {
    QString text;
    QColor ground;  ///< invalid: none
  };

  TokenText();

  void setTokens(std::vector<Token> tokens);
  void setCurrent(int token);  ///< -1: none
  int current() const { return current_; }
  /// Returns the place of a token in the widget.
  QRect place(int token) const;

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;

 Q_SIGNALS:
  void hovered(int token);  ///< -1: none
  void selected(int token);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  /// Places the tokens in lines of this width. @return the height
  int layOut(int width, std::vector<QRect>* places) const;
  int tokenAt(const QPoint& position) const;
  void announce();

  std::vector<Token> tokens_;
  std::vector<QRect> places_;
  int current_ = -1;
  int hovered_ = -1;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QListView>
#include <QModelIndex>
#include <QString>
#include <vector>

#include "explorer/models/table_model.h"

class QEvent;
class QFocusEvent;

namespace lime::explorer {

struct TextToken {
  QString text;
  QColor ground{};          ///< invalid: none
  QString description{};    ///< tool tip; empty: none
  bool is_clipped = false;  ///< its value is beyond the colour scale: marked at a corner
};

/// Shows a text as its tokens, each on a background of its own colour. Arrow keys move from token
/// to token, a click selects one.
class TokenText : public QListView {
  Q_OBJECT

 public:
  explicit TokenText(const QString& accessible_name);

  /// Keeps the current token and the place of the scroll bar where the texts are the same.
  void setTokens(std::vector<TextToken> tokens);
  const std::vector<TextToken>& tokens() const { return model_.rows(); }
  int current() const { return currentIndex().row(); }  ///< -1: none
  void setCurrent(int token);                           ///< without selected()

 Q_SIGNALS:
  void hovered(int token);  ///< -1: none
  void selected(int token);

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
  void focusInEvent(QFocusEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  TableModel<TextToken> model_;
};

}  // namespace lime::explorer

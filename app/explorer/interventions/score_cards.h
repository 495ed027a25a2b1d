// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <optional>

#include "explorer/interventions/intervention_result.h"

class QGridLayout;
class QLabel;

namespace lime::explorer {

/// Shows loss, perplexity and log-likelihood of a text, original and edited.
class ScoreCards : public QWidget {
  Q_OBJECT

 public:
  explicit ScoreCards(QWidget* parent = nullptr);

  void show(const std::optional<TextScore>& score);

 private:
  struct Card {
    QLabel* values = nullptr;
    QLabel* change = nullptr;
  };
  Card addCard(QGridLayout& grid, int column, const QString& title, const QString& toolTip);

  Card loss_;
  Card perplexity_;
  Card likelihood_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractButton>
#include <QSize>
#include <QString>
#include <optional>

#include "explorer/window/questions.h"

class QEvent;
class QKeyEvent;
class QLabel;
class QPaintEvent;
class QResizeEvent;

namespace lime::explorer {

/// A question of the start page with its answer: a figure in small, and one sentence. A click, or
/// Enter, opens the files behind it.
class QuestionCard : public QAbstractButton {
  Q_OBJECT

 public:
  explicit QuestionCard(const Question& question);

  const Question& question() const { return question_; }
  /// Shows what was found. The card cannot be pressed before.
  void setFinding(const Finding& finding);
  const std::optional<Finding>& finding() const { return finding_; }
  /// Shows why nothing was found.
  void setProblem(const QString& problem);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 private:
  void drawThumbnail();

  const Question& question_;
  std::optional<Finding> finding_;
  QLabel* thumbnail_;
  QLabel* sentence_;
};

}  // namespace lime::explorer

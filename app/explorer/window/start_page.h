// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "explorer/models/job_runner.h"
#include "explorer/window/questions.h"

class QAction;
class QLabel;
class QPushButton;
class QShowEvent;
class QVBoxLayout;

namespace lime::explorer {

class QuestionCard;

/// Shows how to begin: three questions that the demo answers, files of the user, recent files.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(JobRunner& jobs);

  void setRecent(const QStringList& paths);
  /// Gives the focus to the first card with an answer, else to the first link.
  void takeFocus();

 Q_SIGNALS:
  void openWanted();
  void openFolderWanted();
  void openPaths(const QStringList& paths);
  /// The user wants to see the answer to a question.
  void questionAsked(const lime::explorer::Question& question,
                     const lime::explorer::Finding& finding);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void findAnswers();

  JobRunner& jobs_;
  std::vector<QuestionCard*> cards_;
  QVBoxLayout* recent_;
  QWidget* folder_;  ///< the first link
};

/// Stands in for an empty view: says what it needs, and offers the one button that fills it.
class OfferPage : public QWidget {
  Q_OBJECT

 public:
  explicit OfferPage(JobRunner& jobs);

  void offer(const QString& question, const QString& text, QAction* action);

 Q_SIGNALS:
  void openWanted();

 private:
  QLabel* question_ = nullptr;
  QLabel* text_ = nullptr;
  QPushButton* button_;
  QAction* action_ = nullptr;
};

/// Returns the checkpoints, captures and results of scripts/demo.sh (data/, out/) that exist.
QStringList findDemo();

}  // namespace lime::explorer

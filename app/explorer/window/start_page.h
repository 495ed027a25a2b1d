// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "explorer/models/text.h"

class QAction;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace lime::explorer {

/// Shows how to begin: open files, the demo, or recent files.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  StartPage();

  void setRecent(const QStringList& paths);
  /// Sets the files of the demo; without any, the page explains how to create them.
  void setDemo(const QStringList& paths);

 Q_SIGNALS:
  void openWanted();
  void openFolderWanted();
  void openPaths(const QStringList& paths);

 private:
  QVBoxLayout* recent_;
  QVBoxLayout* demo_;
};

/// Stands in for an empty view: says what it needs, and offers the one button that fills it.
class OfferPage : public QWidget {
  Q_OBJECT

 public:
  OfferPage();

  void offer(const QString& question, const QString& text, QAction* action);

 Q_SIGNALS:
  void openWanted();

 private:
  QLabel* question_ = nullptr;
  QLabel* text_ = nullptr;
  QPushButton* button_;
  QAction* action_ = nullptr;
};

/// Returns the path of a file of the toolkit, searched in the folder of the program, in those above
/// it, and in the current folder; empty if it is in none.
QString findAbove(const QString& relative);

/// Returns the checkpoints, captures and results of scripts/demo.sh (data/, out/) that exist.
QStringList findDemo();

}  // namespace lime::explorer

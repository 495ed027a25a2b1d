// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

class QVBoxLayout;

namespace lime::explorer {

/// What an empty window shows: what to do first, the demo, and what was open lately.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(QWidget* parent = nullptr);

  void setRecent(const QStringList& paths);
  /// Files of the demo; none: the page says how to make them.
  void setDemo(const QStringList& paths);

 Q_SIGNALS:
  void openWanted();
  void openFolderWanted();
  void openPaths(const QStringList& paths);

 private:
  QVBoxLayout* recent_;
  QVBoxLayout* demo_;
};

/// Checkpoints, captures and results of scripts/demo.sh (out/) and data/, looked for beside the
/// program and the folders above it, and in the present folder.
QStringList findDemo(const QString& programFolder);

}  // namespace lime::explorer

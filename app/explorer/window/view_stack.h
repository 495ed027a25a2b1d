// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>

#include "explorer/widgets/view.h"
#include "explorer/window/explanations.h"

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

/// Returns the checkpoints, captures and results of scripts/demo.sh (out/) and data/, in the folder
/// of the program, those above it, or the current folder.
QStringList findDemo(const QString& programFolder);

/// Describes a view that is not made yet.
struct ViewKind {
  QString id;        ///< in sessions and screenshots: "router"
  QString title;     ///< "Router"
  QString question;  ///< that the view answers, one sentence
  /// Returns whether the view shows such a document, for the start page and double clicks.
  std::function<bool(const Document&)> shows;
  std::function<View*(const ViewContext&)> make;
};

/// Lists all views in the order of the side bar. A new view is one pair of files and its entry
/// here.
const std::vector<ViewKind>& allViews();

/// Returns the id of the view that is stored as `id` in a session or given on a command line.
/// Earlier versions called the Embeddings view "clouds" and the Interventions view "surgery".
QString currentViewId(const QString& id);

/// The centre of the explorer: the start page while nothing is open, else the current view.
class ViewStack : public QStackedWidget {
  Q_OBJECT

 public:
  explicit ViewStack(const ViewContext& context);

  StartPage& startPage() { return *start_; }
  const std::vector<View*>& views() const { return views_; }
  View* currentView() const;
  int currentViewIndex() const { return current_; }
  bool showsStartPage() const;

  void showIndex(int index);
  /// Shows the view called `id` in allViews().
  void showView(const QString& id);
  /// Shows the first view for a document, unless the current one shows it.
  void showViewFor(const Document& document);
  /// Shows the start page or the current view.
  void showCurrent();
  void takeFocus();

  /// Gives views their states, by their ids.
  /// @throws InvalidArgument  for an unknown view or name; lists the known ones
  /// @throws Json's exceptions for values of other types
  void setStates(const Json& states);

 Q_SIGNALS:
  void currentViewChanged(int index);
  /// The figure of the current view, or the current view itself, changed.
  void figureChanged();
  void status(const QString& text);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void addViews(const ViewContext& context);
  void checkStates(const Json& states) const;
  void select(const Json& selection);

  Workspace& workspace_;
  StartPage* start_;
  ExplainButton* explain_;
  std::vector<View*> views_;
  int current_ = 0;
};

}  // namespace lime::explorer

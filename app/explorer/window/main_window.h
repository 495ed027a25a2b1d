// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QMainWindow>
#include <QPalette>
#include <QString>
#include <QStringList>
#include <QUndoStack>
#include <vector>

#include "explorer/capture/capture_run.h"
#include "explorer/models/document.h"
#include "explorer/models/job_runner.h"
#include "explorer/window/view_kinds.h"
#include "explorer/window/view_stack.h"

class QAction;
class QCloseEvent;
class QDockWidget;
class QDragEnterEvent;
class QDropEvent;
class QEvent;
class QLabel;
class QMenu;

namespace lime::explorer {

class FigureActions;
class FileMenu;
class NoticeBar;
class SideBar;

/// The main window: the side bar, the current view, menus and notices.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow();
  ~MainWindow() override;

  Workspace& workspace() { return workspace_; }
  JobRunner& jobs() { return jobs_; }
  QUndoStack& undoStack() { return undo_; }
  const std::vector<View*>& views() const { return views_->views(); }
  View* currentView() const { return views_->currentView(); }
  void showView(const QString& id) { selectView(indexOfView(id)); }
  bool showsStartPage() const { return views_->showsStartPage(); }

  /// Sets the theme of this session, until the preference is changed.
  void setTheme(ThemeChoice theme) {
    preferences_.theme = theme;
    applyTheme();
  }

  /// Opens the documents of the last session, and restores the states of the views.
  void restoreSession();
  /// Restores sizes and recent files, also where a session is not restored.
  void restoreLayout();

  /// Gives views their states. @throws as ViewStack::setStates()
  void setStates(const Json& states) { views_->setStates(states); }
  void finishJobs();  ///< waits for all jobs and animations

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void makeCentre();
  void makeSideBar();
  /// Shows a view, and keeps it for the documents that are opened into an empty window.
  void selectView(int index);
  void makeMenus();
  QMenu* makeEditMenu();
  QMenu* makeViewMenu();
  QMenu* makeHelpMenu();
  void connectWorkspace();
  void connectCaptures();
  void updateActions();
  void onDocumentChanged(int id);
  void offerToLocate(const Document& document);
  void offerToFill();
  /// Offers to capture a text, if only plain transformers are open.
  void offerToCapture();
  /// Opens the files of a question, and shows its view below the answer in one sentence.
  void showAnswer(const Question& question, const Finding& finding);
  /// Offers to capture a text, and gives it to the views that run texts.
  void openText(const QString& path);
  void captureText();
  /// Captures words of the last text, if the Probes view has nothing to show.
  void captureWords();
  void measureCaptures();
  void showCaptured();
  void editPreferences();
  void applyTheme();
  void showShortcuts();
  void showManual();
  void showAbout();

  Preferences preferences_;
  QPalette desktop_;
  JobRunner jobs_;
  Workspace workspace_;
  QUndoStack undo_;
  CaptureRun captures_;
  CaptureRequest capture_;  ///< the last one
  QString captured_view_;   ///< id of the view that shows the captures
  QStringList dropped_;     ///< files that are being opened
  QString awaited_;         ///< last file of a capture that is being opened
  ViewStack* views_;
  FigureActions* figure_actions_;
  NoticeBar* notice_ = nullptr;
  SideBar* side_bar_ = nullptr;
  QDockWidget* side_dock_ = nullptr;
  QLabel* hover_ = nullptr;
  FileMenu* file_menu_ = nullptr;
  QMenu* view_menu_ = nullptr;
  QAction* after_view_actions_ = nullptr;
  QList<QAction*> shown_view_actions_;
  bool keeps_view_ = false;    ///< when the documents of the session come
  bool selects_view_ = false;  ///< the documents that are being opened select it
  bool is_restoring_ = false;  ///< the session, whose documents are being opened
};

}  // namespace lime::explorer

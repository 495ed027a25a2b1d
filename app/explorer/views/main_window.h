// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMainWindow>
#include <QPalette>
#include <QUndoStack>
#include <vector>

#include "core/json.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/navigator_model.h"
#include "explorer/models/preferences.h"
#include "explorer/models/workspace.h"

class QActionGroup;
class QLabel;
class QListWidget;
class QMenu;
class QStackedWidget;
class QTreeView;

namespace lime::explorer {

class NoticeBar;
class StartPage;
class View;
struct ViewKind;

/// The window: views and open documents at the left, the present view, menus, jobs and notices.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  MainWindow();
  ~MainWindow() override;

  Workspace& workspace() { return workspace_; }
  JobRunner& jobs() { return jobs_; }
  QUndoStack& undoStack() { return undo_; }
  const std::vector<View*>& views() const { return views_; }
  View* currentView() const;
  /// Shows the view called `id` of allViews().
  void showView(const QString& id);
  /// The start page where nothing is open, else the view.
  bool showsStartPage() const;

  /// For this session only: a preference that is changed later counts again.
  void setTheme(ThemeChoice theme);

  /// Opens what was open at the end of the last session, and shows views as they were.
  void restoreSession();
  /// Sizes and recent files, which a window without its last session has too.
  void restoreHabits();

  /// Gives views their states, by their ids.
  /// @throws InvalidArgument  for a view or a name that there is not; names those that there are.
  /// @throws what Json throws on values of other types
  void setStates(const Json& states);
  /// Writes a picture of the window with each view into `folder`; waits for what views compute when
  /// they are first shown.
  /// @throws IoError
  void saveScreenshots(const QString& folder);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void checkStates(const Json& states) const;
  void makeCentre();
  void makeSideBar();
  void makeMenus();
  void makeFileMenu(QMenu& menu);
  void makeEditMenu(QMenu& menu);
  void makeViewMenu(QMenu& menu);
  void makeHelpMenu(QMenu& menu);
  void connectWorkspace();
  void makeViews();
  void showIndex(int index);
  void showViewFor(const Document& document);
  void updateCentre();
  void focusCentre();
  void updateViewMenu();
  void updateRecentMenu();
  void openFiles();
  void openFolder();
  void closeCurrent();
  void reloadCurrent();
  void offerToLocate(const Document& document);
  void locateCapture(int id);
  void updateFileMenu();
  void exportFigure();
  void copyCommandLines();
  void copyPicture();
  void editPreferences();
  void applyTheme();
  void showShortcuts();
  void showAbout();
  void notice(const QString& text);
  void saveSession();
  void restoreTokens(const std::string& stored);
  void finishJobs();
  QAction* addTo(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                 const QString& statusTip, const std::function<void()>& action);

  Preferences preferences_;
  QPalette desktop_;
  JobRunner jobs_;
  Workspace workspace_;
  NavigatorModel navigator_;
  QUndoStack undo_;
  std::vector<View*> views_;
  QStackedWidget* centre_ = nullptr;  ///< the start page, then the views
  StartPage* start_ = nullptr;
  NoticeBar* notice_ = nullptr;
  QListWidget* view_list_ = nullptr;
  QTreeView* tree_ = nullptr;
  QLabel* hover_ = nullptr;
  QDockWidget* side_bar_ = nullptr;
  QMenu* view_menu_ = nullptr;
  QMenu* recent_menu_ = nullptr;
  QAction* locate_ = nullptr;
  QAction* after_view_actions_ = nullptr;
  QList<QAction*> shown_view_actions_;
  QList<QAction*> figure_actions_;  ///< that need a figure
  int current_view_ = 0;
};

}  // namespace lime::explorer

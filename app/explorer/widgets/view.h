// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QPointer>
#include <QSet>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explorer/models/document.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/preferences.h"
#include "explorer/models/workspace.h"
#include "explorer/widgets/figure_pane.h"

class QAction;
class QComboBox;
class QEvent;
class QShowEvent;
class QUndoStack;

namespace lime::explorer {

/// The objects that a view uses. All of them outlive the view.
struct ViewContext {
  Workspace& workspace;
  JobRunner& jobs;
  QUndoStack& undo;
  const Preferences& preferences;
};

/// The state that undo restores: the settings of a view, and the selection of all views.
struct ViewState {
  Json state = {};  ///< null: undo leaves it as it is
  Selection selection = {};

  bool operator==(const ViewState&) const = default;
};

/// A use of keys or the mouse that no menu shows.
struct Shortcut {
  QString what;
  QString keys;
};

/// A page of the explorer: the answer to one question about the open documents.
///
/// A view
/// - shows its content as a lime::Figure, so that Export writes the same figure;
/// - keeps the user's settings (never data) in state(), from which come undo and the session;
/// - reads layer, head and tokens from Workspace::selection() and writes there what is clicked;
/// - adds its actions with addViewAction(): the menu View and the list of shortcuts show them;
/// - computes in JobRunner, never on the GUI thread.
class View : public QWidget {
  Q_OBJECT

 public:
  View(QString title, const ViewContext& context);

  const QString& title() const { return title_; }

  /// Returns what is shown now, by default in the active pane; nothing where there is nothing.
  virtual std::optional<Figure> figure() const { return panes_.figure(); }
  /// Returns the commands that repeat what is shown without the explorer. The last one is of
  /// lime-figure, unless no recipe of it draws this figure.
  virtual QStringList commandLines() const = 0;
  /// Returns the origin of the figure, stored in exported files: commands and documents.
  virtual Json provenance() const;

  /// Returns the user's settings in this view, as a flat object: those of addSetting().
  virtual Json state() const;
  /// Restores a state, also one of an earlier version: unknown names are ignored, missing ones stay
  /// as they are. Calls restored().
  virtual void setState(const Json& state);
  /// Returns the name of the setting that tells which document the others are of: a step of undo
  /// restores it with them. Empty: none.
  virtual std::string subjectName() const { return {}; }
  /// Returns the names that setState() accepts and state() may omit.
  virtual std::vector<std::string> furtherNames() const { return selectionNames(); }
  /// Returns the names of state() that are parts of the selection. Steps of undo have them with it.
  virtual std::vector<std::string> selectionNames() const { return {}; }

  /// Returns the keys and mouse gestures of this view that are no actions.
  virtual std::vector<Shortcut> shortcuts() const { return {}; }

  /// Computes what the view shows of a capture that was made for it, where that waits for a button.
  virtual void fill() {}
  /// Uses a text file that the user opened, in a view that runs texts.
  virtual void openText(const QString& /*path*/) {}
  /// Returns why the view leaves out a document of a kind that it draws; empty if it does not.
  virtual QString obstacle(const Document& /*document*/) const { return {}; }

  /// Returns the least height: a scroll area asks for it where lines wrap, and would scroll where
  /// the usual height does not fit.
  int heightForWidth(int width) const override;

  void takeFocus();  ///< gives the focus to what setFirstFocus() named

  virtual void zoom(double factor) { panes_.zoom(factor); }
  virtual void showAll() { panes_.showAll(); }

  /// Changes the state or the selection by `change`, as one step of undo. Steps of equal `text`
  /// that follow each other within a second (a slider being moved) are one.
  void changeState(const QString& text, const std::function<void()>& change);
  void changeSelection(const QString& text, const Selection& selection);  ///< likewise
  /// Selects as one step of undo where no setting but selectionNames() follows the selection: reads
  /// no state.
  void select(const QString& text, const Selection& selection);

 Q_SIGNALS:
  /// figure() or commandLines() return something else than before.
  void figureChanged();
  /// Describes what the mouse is over; empty: nothing.
  void status(const QString& text);
  /// Undo or redo changed this view, which may be hidden.
  void stateRestored();
  /// The user asks for another view, by its name in allViews(), of the same selection.
  void viewRequested(const QString& id);

 protected:
  Workspace& workspace() const { return context_.workspace; }
  JobRunner& jobs() const { return context_.jobs; }
  const Preferences& preferences() const { return context_.preferences; }
  PaneGroup& panes() { return panes_; }
  const PaneGroup& panes() const { return panes_; }

  FigureStyle figureStyle() const;
  /// Runs `update` when a document is opened, closed or changed.
  void watchDocuments(const std::function<void()>& update);
  /// Records a step of undo where a control has changed already, which it does before it signals:
  /// the step leads from the state at the last rememberState() to the present one.
  void recordChange(const QString& text);
  void rememberState() { remembered_ = state(); }
  /// Records a change of a part of the view, a plot that was zoomed, as a step of undo. Steps of
  /// equal `text` that follow each other within a second are one. @param part  its name
  void recordPart(const QString& text, const QString& part, std::function<void()> undo,
                  std::function<void()> redo);
  /// Adds a setting to state(). Settings are restored in the order in which they are added.
  void addSetting(std::string name, std::function<Json()> get,
                  std::function<void(const Json&)> set);
  /// Adds the selected entry of a box, by its data. An empty box awaits a name that is restored. If
  /// the user selects another entry, a step of undo called `text` is recorded, then `update` runs.
  void addSetting(std::string name, QComboBox& box, const QString& text,
                  const std::function<void()>& update);
  /// Shows the settings that setState() has restored.
  virtual void restored() {}
  /// Selects the previous or the next of `layers` in all views, or the first one at an end.
  void walkLayers(const std::set<int>& layers, int step);
  /// Selects a layer within another step of undo.
  void setLayer(std::optional<int> layer);
  /// Selects a layer as a step of undo.
  void selectLayer(int layer);
  /// Records zooming and moving of all figures from now on, then calls shown().
  void showEvent(QShowEvent* event) final;
  /// The view became visible: a hidden view computes nothing.
  virtual void shown() {}
  void changeEvent(QEvent* event) override;
  virtual void paletteChanged() {}  ///< draws again, with other colours
  /// Sets what has the focus when the view is shown by its shortcut. Not a focus proxy: Tab would
  /// continue behind it and never reach the controls before it.
  void setFirstFocus(QWidget* widget) { first_focus_ = widget; }
  /// Adds an action of this view. @param shortcuts  may be empty
  QAction* addViewAction(const QString& text, const QList<QKeySequence>& shortcuts,
                         const QString& toolTip, const std::function<void()>& run);
  /// Adds the action that drops what was measured and measures again.
  void addRecomputeAction(const QString& toolTip, const std::function<void()>& run);
  /// Adds the actions that select the previous and the next layer: `walk` gets -1 or 1.
  void addLayerActions(const std::function<void(int)>& walk);
  /// Returns "--layer-base 1" for commands, or nothing where layers count from 0.
  QStringList layerBaseOption() const;

 private:
  struct Setting {
    std::string name;
    std::function<Json()> get;
    std::function<void(const Json&)> set;
  };
  ViewState viewState() const;
  void push(const QString& text, ViewState before, ViewState after);

  QString title_;
  ViewContext context_;
  PaneGroup panes_;
  QPointer<QWidget> first_focus_;
  std::vector<Setting> settings_;
  Json remembered_;
  bool is_palette_old_ = false;    ///< the palette changed while the view was hidden
  QSet<const QObject*> recorded_;  ///< plots whose zoom is a step of undo
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointer>
#include <QSet>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "explorer/models/document.h"
#include "explorer/models/preferences.h"
#include "explorer/models/selection.h"
#include "viz/figure.h"

class QUndoStack;

namespace lime::explorer {

class JobRunner;
class Workspace;

/// What a view works with. All of it outlives the view.
struct ViewContext {
  Workspace& workspace;
  JobRunner& jobs;
  QUndoStack& undo;
  const Preferences& preferences;
};

/// What undo brings back: what a person has set in a view, and what is selected in all of them.
struct ViewMoment {
  Json state = {};  ///< null: undo leaves it as it is
  Selection selection = {};

  bool operator==(const ViewMoment&) const = default;
};

/// Something that keys or the mouse do which no menu shows.
struct Habit {
  QString what;
  QString keys;
};

/// One of the pages of the window: the answer to one question about what is open.
///
/// A view
/// - shows what it shows as a lime::Figure, so that Export writes the same picture;
/// - keeps what a person has set (never data) in state(), from which come undo and the session;
/// - takes layer, head and rows from Workspace::selection() and puts what is clicked there;
/// - adds its actions to itself (QWidget::addAction), with shortcuts: they appear in the menu View
///   and in the overview of shortcuts while it is shown;
/// - computes in JobRunner, never on the GUI thread.
class View : public QWidget {
  Q_OBJECT

 public:
  View(QString title, const ViewContext& context, QWidget* parent);

  const QString& title() const { return title_; }

  /// What is shown now; nothing where there is nothing to show.
  virtual std::optional<Figure> figure() const = 0;
  /// The lines that make the same figure without the window, one command each.
  virtual QStringList commandLines() const = 0;
  /// Where the figure comes from, stored in exported files. The default names the documents.
  virtual Json provenance() const;

  /// What a person has set in this view, as a flat object.
  virtual Json state() const { return Json::object(); }
  /// Takes over a state that state() gave, also one of an earlier version: unknown names are
  /// ignored, missing ones stay as they are.
  virtual void setState(const Json& state);
  /// Names that setState() knows and state() has not always.
  virtual std::vector<std::string> furtherNames() const { return {}; }

  /// Keys and mouse of this view that are no actions, for the overview of shortcuts.
  virtual std::vector<Habit> habits() const { return {}; }

  /// Gives the focus to what setFirstFocus() named.
  void takeFocus();

  virtual void zoom(double factor) { static_cast<void>(factor); }
  virtual void showAll() {}

  /// Changes the state, or what is selected, by `change` and makes that one step of undo. Steps of
  /// equal `text` that follow each other within a second (a slider being moved) are one.
  void changeState(const QString& text, const std::function<void()>& change);
  /// Selects as a step of undo.
  void changeSelection(const QString& text, const Selection& selection);

 Q_SIGNALS:
  /// figure() or commandLines() give something else than before.
  void figureChanged();
  /// What the mouse is over; empty: nothing.
  void status(const QString& text);
  /// Undo or redo has changed this view, which may be behind another.
  void stateRestored();

 protected:
  Workspace& workspace() const { return context_.workspace; }
  JobRunner& jobs() const { return context_.jobs; }
  const Preferences& preferences() const { return context_.preferences; }
  /// The same as changeState() where a control has changed already, which it does before it tells:
  /// the step leads from the state at the last rememberState() to the present one.
  void recordChange(const QString& text);
  void rememberState();
  /// Makes something that was done to a part of the view, a plot that was zoomed, a step of undo.
  /// Steps of equal `text` that follow each other within a second are one. @param part  its name
  void recordPart(const QString& text, const QString& part, std::function<void()> undo,
                  std::function<void()> redo);
  /// From now on, zooming and moving of all figures is recorded. Views call it in theirs.
  void showEvent(QShowEvent* event) override;
  /// What has the focus when the view is shown by its shortcut. Not a focus proxy: Tab would go on
  /// behind it and never reach the controls before it.
  void setFirstFocus(QWidget* widget) { first_focus_ = widget; }
  /// Adds an action of this view. @param shortcut  may be empty.
  QAction* addViewAction(const QString& text, const QKeySequence& shortcut, const QString& toolTip);

 private:
  ViewMoment moment() const;
  void push(const QString& text, ViewMoment before, ViewMoment after);

  QString title_;
  ViewContext context_;
  QPointer<QWidget> first_focus_;
  Json remembered_;
  QSet<const QObject*> recorded_;  ///< plots whose zoom is a step of undo
};

/// How the window lists a view before it is made.
struct ViewKind {
  QString id;        ///< in sessions and screenshots: "router"
  QString title;     ///< "Router"
  QString question;  ///< what it answers, one sentence
  /// Whether there is something to show of such a document: the start page and double clicks ask.
  std::function<bool(const Document&)> shows;
  std::function<View*(const ViewContext&, QWidget* parent)> make;
};

}  // namespace lime::explorer

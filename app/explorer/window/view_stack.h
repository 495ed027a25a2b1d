// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>
#include <QToolButton>

#include "explorer/widgets/view.h"
#include "explorer/window/start_page.h"

namespace lime::explorer {

/// The content that a view requires. Without it the view is empty.
enum class Need { kCheckpoint, kCapture, kSequences, kWords, kResults };

/// Returns what a view with this need shows, for a page without it.
QString explanationOf(Need need);
/// Returns true if a capture of a text provides the content, or results measured from it.
bool needsCapture(Need need);

/// Describes a view, for the button "?".
struct Explanation {
  QString text;     ///< two sentences
  QString formula;  ///< with HTML entities and tags
  QString caveat;
  QString page;          ///< of docs/, "router.md"
  QString heading = {};  ///< in that page; empty: its beginning
  /// Rows of docs/invariance.md that are quoted, see InvarianceNote::measurement.
  std::vector<std::string> measurements = {};
};

/// Describes a view that is not made yet.
struct ViewKind {
  QString id;        ///< in sessions and screenshots: "router"
  QString title;     ///< "Router"
  QString question;  ///< that the view answers, one sentence
  Need need;
  /// Returns true if the view shows such a document. Without one, OfferPage is shown instead.
  std::function<bool(const Document&)> shows;
  /// Returns true if such a document answers the question. A plain transformer has no router, and
  /// an edit answers nothing before it is run.
  std::function<bool(const Document&)> answers;
  std::function<View*(const ViewContext&)> make;
  Explanation explanation;
};

/// Lists all views in the order of the side bar. A new view is a pair of files and its entry here.
const std::vector<ViewKind>& allViews();

/// Returns the place in allViews() of the view called `id` in a session or on a command line; -1
/// if there is none.
int indexOfView(const QString& id);

/// Returns the path of a page of docs/, next to the program or in a folder above it; empty if the
/// manual is not installed.
QString manualPage(const QString& page);

/// Shows a page of the manual in a window of its own, at `heading` if it is not empty.
void showPage(const QString& path, const QString& heading, QWidget* parent);

/// The button "?" in a corner of its parent: explains the current view.
class ExplainButton : public QToolButton {
  Q_OBJECT

 public:
  explicit ExplainButton(QWidget& parent);

  /// Sets the view that is explained; nullptr: none.
  void setView(const ViewKind* view);
  /// Moves to the upper right corner of the parent.
  void place();
  void explain();

 private:
  const ViewKind* view_ = nullptr;
};

/// The centre of the explorer: the start page while nothing is open, else the current view, or what
/// it needs.
class ViewStack : public QStackedWidget {
  Q_OBJECT

 public:
  explicit ViewStack(const ViewContext& context);

  StartPage& startPage() { return *start_; }
  OfferPage& offerPage() { return *offer_; }
  const std::vector<View*>& views() const { return views_; }
  View* currentView() const;
  const ViewKind& currentKind() const;
  bool showsStartPage() const;
  /// Returns whether the current view shows something, or computes it.
  bool showsView() const { return !frames_.empty() && currentWidget() == currentFrame(); }

  /// Returns why the current view leaves out a document; empty if it does not.
  QString obstacle(const Document& document) const {
    return showsView() ? currentView()->obstacle(document) : QString();
  }

  void showIndex(int index);
  void showView(const QString& id);
  /// Shows the best view for a document, unless the current one shows it.
  void showViewFor(const Document& document);
  /// Shows the first view whose question is answered by an open document, else the last one that
  /// shows one.
  void showBestView();
  void showCurrent();
  void takeFocus();

  /// Gives views their states, by their ids.
  /// @throws InvalidArgument  for an unknown view or name; lists the known ones
  /// @throws Json's exceptions for values of other types
  void setStates(const Json& states);

 Q_SIGNALS:
  /// The current view is empty: the receiver sets offerPage().
  void emptyViewShown();
  void currentViewChanged(int index);
  /// The figure of the current view, or the current view itself, changed.
  void figureChanged();
  void status(const QString& text);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void addViews(const ViewContext& context);
  QWidget* currentFrame() const { return frames_[static_cast<std::size_t>(current_)]; }
  void select(const Json& selection);

  Workspace& workspace_;
  StartPage* start_;
  OfferPage* offer_;
  ExplainButton* explain_;
  std::vector<View*> views_;
  // Frames scroll pages and views in small windows.
  QWidget* start_frame_ = nullptr;
  QWidget* offer_frame_ = nullptr;
  std::vector<QWidget*> frames_;  ///< of the views
  int current_ = 0;
};

}  // namespace lime::explorer

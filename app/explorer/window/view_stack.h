// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>

#include "explorer/widgets/view.h"
#include "explorer/window/explanations.h"
#include "explorer/window/start_page.h"

namespace lime::explorer {

/// What a view shows. Without it the view is empty.
enum class Need { kCheckpoint, kRoutes, kCapture, kSequences, kWords, kResults };

/// Describes a view that is not made yet.
struct ViewKind {
  QString id;        ///< in sessions and screenshots: "router"
  QString title;     ///< "Router"
  QString question;  ///< that the view answers, one sentence
  Need need;
  /// Returns true if the view shows such a document. Without one, OfferPage is shown instead.
  std::function<bool(const Document&)> shows;
  std::function<View*(const ViewContext&)> make;
};

/// Lists all views in the order of the side bar. A new view is one pair of files and its entry
/// here.
const std::vector<ViewKind>& allViews();

/// Returns the id of the view that is stored as `id` in a session or given on a command line.
/// Earlier versions called the Embeddings view "clouds" and the Interventions view "surgery".
QString currentViewId(const QString& id);

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
  int currentViewIndex() const { return current_; }
  const ViewKind& currentKind() const;
  bool showsStartPage() const;
  /// Returns whether the current view shows something, or computes it.
  bool showsView() const { return currentWidget() == currentView(); }

  void showIndex(int index);
  /// Shows the view called `id` in allViews().
  void showView(const QString& id);
  /// Shows the first view for a document, unless the current one shows it.
  void showViewFor(const Document& document);
  /// Shows the start page, the current view, or what it needs.
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
  void checkStates(const Json& states) const;
  void select(const Json& selection);

  Workspace& workspace_;
  StartPage* start_;
  OfferPage* offer_;
  ExplainButton* explain_;
  std::vector<View*> views_;
  int current_ = 0;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>
#include <QString>
#include <cstddef>
#include <vector>

#include "core/json.h"
#include "explorer/models/document.h"
#include "explorer/widgets/view.h"
#include "explorer/window/start_page.h"
#include "explorer/window/view_kinds.h"

class QResizeEvent;
class QWidget;

namespace lime::explorer {

class ExplainButton;

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

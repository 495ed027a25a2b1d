// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QToolButton>

#include "explorer/models/text.h"

namespace lime::explorer {

/// What a view shows, for the button "?".
struct Explanation {
  QString text;     ///< two sentences
  QString formula;  ///< with HTML entities and tags
  QString caveat;
  QString page;     ///< of docs/, "router.md"
  QString heading;  ///< in that page; empty: its beginning
};

/// Returns the explanation of the view called `id` in allViews().
const Explanation& explanationOf(const QString& id);

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

  void setView(const QString& id);
  /// Moves to the upper right corner of the parent.
  void place();
  void explain();

 private:
  QString view_;
};

}  // namespace lime::explorer

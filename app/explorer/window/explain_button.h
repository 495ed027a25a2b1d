// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QToolButton>

class QWidget;

namespace lime::explorer {

struct ViewKind;

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

}  // namespace lime::explorer

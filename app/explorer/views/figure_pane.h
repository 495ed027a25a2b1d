// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;

namespace lime::explorer {

class FigureView;

/// A figure below a line that says what it is; views with several of them export the active one.
class FigurePane : public QWidget {
  Q_OBJECT

 public:
  explicit FigurePane(const QString& accessibleName, QWidget* parent = nullptr);

  FigureView& plot() { return *plot_; }
  const FigureView& plot() const { return *plot_; }
  /// @param help  what the pointer finds there; may be empty
  void setCaption(const QString& text, const QString& help = {});
  QString caption() const;
  void setActive(bool active);

 Q_SIGNALS:
  /// Somebody works with it: it has been clicked or has got the focus.
  void activated();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLabel* caption_;
  FigureView* plot_;
};

}  // namespace lime::explorer

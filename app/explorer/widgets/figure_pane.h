// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <optional>

#include "viz/figure.h"

class QLabel;

namespace lime::explorer {

class FigureView;

/// Shows a figure below its caption.
class FigurePane : public QWidget {
  Q_OBJECT

 public:
  explicit FigurePane(const QString& accessibleName, QWidget* parent = nullptr);

  FigureView& plot() { return *plot_; }
  const FigureView& plot() const { return *plot_; }
  /// Shows `figure`, or without one `message` and no caption.
  void show(std::optional<Figure> figure, const QString& message);
  /// @param help  tool tip; may be empty
  void setCaption(const QString& text, const QString& help = {});
  QString caption() const;
  void setActive(bool active);

 Q_SIGNALS:
  /// The user clicked the figure, or gave it the focus.
  void activated();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLabel* caption_;
  FigureView* plot_;
};

}  // namespace lime::explorer

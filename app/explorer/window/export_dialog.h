// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

#include "core/json.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

class QLabel;
class QLineEdit;
class QPushButton;

namespace lime::explorer {

class OptionForm;

/// Asks for path and style of a figure and writes it: PDF, SVG, PNG, CSV or pgfplots, with the
/// options of lime-figure. Shows errors and stays open.
class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  ExportDialog(Figure figure, Json provenance, QWidget* parent = nullptr);

  void setPath(const QString& path);
  QString path() const;
  QString problem() const;

  /// Writes the figure and closes, or shows why not.
  void accept() override;

 private:
  void browse();

  Figure figure_;
  Json provenance_;
  FigureStyle style_;
  QLineEdit* path_;
  OptionForm* form_;
  QLabel* problem_;
};

}  // namespace lime::explorer

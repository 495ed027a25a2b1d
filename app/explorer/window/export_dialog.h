// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLineEdit>
#include <QString>
#include <QTimer>

#include "core/json.h"
#include "explorer/widgets/form_dialog.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

class QLabel;
class QWidget;

namespace lime::explorer {

/// Asks for path and style of a figure and writes it: PDF, SVG, PNG, CSV or pgfplots, with the
/// options of lime-figure.
class ExportDialog : public FormDialog {
  Q_OBJECT

 public:
  ExportDialog(Figure figure, Json provenance, QWidget* parent = nullptr);

  void setPath(const QString& path) { path_->setText(path); }
  QString path() const { return path_->text(); }

 protected:
  void apply() override;

 private:
  void drawPreview();

  Figure figure_;
  Json provenance_;
  FigureStyle style_;
  QLineEdit* path_;
  QLabel* preview_;
  QTimer redraw_;  ///< of the preview, once typing pauses
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/export_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "explorer/widgets/option_form.h"
#include "viz/figure_file.h"

namespace lime::explorer {
namespace {

const QString kLastFolder = QStringLiteral("export/folder");

}  // namespace

ExportDialog::ExportDialog(Figure figure, Json provenance, QWidget* parent)
    : QDialog(parent), figure_(std::move(figure)), provenance_(std::move(provenance)) {
  setWindowTitle(QStringLiteral("Export figure"));
  const QString folder = QSettings().value(kLastFolder, QDir::currentPath()).toString();
  path_ = new QLineEdit(QDir(folder).filePath(toQString(figure_.name) + QStringLiteral(".pdf")));
  path_->setAccessibleName(QStringLiteral("file to write"));
  path_->setMinimumWidth(360);
  auto* const label = new QLabel(QStringLiteral("&File"));
  label->setBuddy(path_);
  auto* const browse_button = new QPushButton(QStringLiteral("&Browse..."));
  connect(browse_button, &QPushButton::clicked, this, &ExportDialog::browse);
  auto* const line = new QHBoxLayout;
  line->addWidget(label);
  line->addWidget(path_, 1);
  line->addWidget(browse_button);
  auto* const kinds = new QLabel(
      QStringLiteral("The extension selects the format: .pdf, .svg, .png, .csv (numbers) or .tex "
                     "(pgfplots)."));
  kinds->setWordWrap(true);
  form_ = new OptionForm(option_fields(style_));
  problem_ = new QLabel;
  problem_->setWordWrap(true);
  problem_->setForegroundRole(QPalette::BrightText);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  problem_->hide();
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
  connect(buttons, &QDialogButtonBox::accepted, this, &ExportDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &ExportDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addLayout(line);
  column->addWidget(kinds);
  column->addSpacing(8);
  column->addWidget(form_);
  column->addWidget(problem_);
  column->addWidget(buttons);
}

void ExportDialog::setPath(const QString& path) { path_->setText(path); }
QString ExportDialog::path() const { return path_->text(); }
QString ExportDialog::problem() const { return problem_->text(); }

void ExportDialog::browse() {
  const QString selected = QFileDialog::getSaveFileName(
      this, windowTitle(), path_->text(),
      QStringLiteral("Figures (*.pdf *.svg *.png);;Numbers (*.csv);;pgfplots (*.tex)"), nullptr,
      QFileDialog::DontConfirmOverwrite);
  if (!selected.isEmpty()) path_->setText(selected);
}

void ExportDialog::accept() {
  QString problem = form_->problem();
  if (problem.isEmpty()) {
    try {
      style_.validate();
      write_figure(toPath(path_->text()), figure_, style_, provenance_);
    } catch (const std::exception& error) {
      problem = toQString(error);
    }
  }
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  if (!problem.isEmpty()) return;
  QSettings().setValue(kLastFolder, QFileInfo(path_->text()).absolutePath());
  QDialog::accept();
}

}  // namespace lime::explorer

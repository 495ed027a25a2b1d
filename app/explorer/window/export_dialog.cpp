// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/export_dialog.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QFileInfo>
#include <QFrame>
#include <QImage>
#include <QLabel>
#include <QPixmap>
#include <QSettings>
#include <QSize>
#include <QSizeF>
#include <QWidget>
#include <algorithm>
#include <utility>

#include "explorer/models/text.h"
#include "explorer/widgets/option_form.h"
#include "viz/figure_file.h"

namespace lime::explorer {
namespace {

constexpr QSize kPreview(380, 460);
const QString kLastFolder = u"export/folder"_s;

}  // namespace

ExportDialog::ExportDialog(Figure figure, Json provenance, QWidget* parent)
    : FormDialog(u"Export figure"_s, parent),
      figure_(std::move(figure)),
      provenance_(std::move(provenance)) {
  const QString folder = QSettings().value(kLastFolder, QDir::currentPath()).toString();
  path_ = addPath(u"&File"_s, u"file to write"_s, [this](const QString& path) {
    return QFileDialog::getSaveFileName(
        this, windowTitle(), path,
        u"Figures (*.pdf *.svg *.png);;Numbers (*.csv);;pgfplots (*.tex)"_s, nullptr,
        QFileDialog::DontConfirmOverwrite);
  });
  path_->setText(QDir(folder).filePath(toQString(figure_.name) + u".pdf"_s));
  auto* const kinds = new QLabel(
      u"The extension selects the format: .pdf, .svg, .png, .csv (numbers) or .tex (pgfplots)."_s);
  kinds->setWordWrap(true);
  column().addWidget(kinds);
  column().addSpacing(8);
  auto* const form = new OptionForm(style_);
  addForm(form, QDialogButtonBox::Save);
  connect(form, &OptionForm::changed, &redraw_, qOverload<>(&QTimer::start));
  redraw_.setSingleShot(true);
  connect(&redraw_, &QTimer::timeout, this, &ExportDialog::drawPreview);
  preview_ = new QLabel;
  preview_->setAccessibleName(u"preview"_s);
  preview_->setWordWrap(true);
  preview_->setFixedSize(kPreview);
  preview_->setAlignment(Qt::AlignCenter);
  preview_->setFrameShape(QFrame::StyledPanel);
  layout()->addWidget(preview_);
  redraw_.start(0);
}

void ExportDialog::drawPreview() {
  QElapsedTimer timer;
  timer.start();
  const double ratio = devicePixelRatioF();
  try {
    QImage image = preview_figure(figure_, style_, (QSizeF(kPreview) * ratio).toSize());
    image.setDevicePixelRatio(ratio);
    preview_->setPixmap(QPixmap::fromImage(image));
  } catch (const Error& error) {
    preview_->setText(toQString(error));
  }
  // Typing is not slowed down by a figure that takes long.
  redraw_.setInterval(std::clamp<int>(static_cast<int>(10 * timer.elapsed()), 150, 3000));
}

void ExportDialog::apply() {
  style_.validate();
  write_figure(toPath(path_->text()), figure_, style_, provenance_);
  QSettings().setValue(kLastFolder, QFileInfo(path_->text()).absolutePath());
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/capture/capture_dialog.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>

#include "explorer/capture/example_text.h"
#include "explorer/widgets/option_form.h"

namespace lime::explorer {

CaptureDialog::CaptureDialog(CaptureRun& run, CaptureRequest request, QWidget* parent)
    : FormDialog(u"Capture a text"_s, parent),
      run_(run),
      request_(std::move(request)),
      text_(new QPlainTextEdit) {
  auto* const boxes = new QVBoxLayout;
  for (const CaptureRequest::Model& model : request_.models) {
    models_.push_back(new QCheckBox(u"Checkpoint %1"_s.arg(model.label)));
    models_.back()->setChecked(true);
    models_.back()->setToolTip(model.path);
    boxes->addWidget(models_.back());
  }
  text_->setPlaceholderText(u"Type or paste a text here, one sequence per line"_s);
  text_->setAccessibleName(u"text to capture"_s);
  text_->setTabChangesFocus(true);
  text_->setPlainText(request_.text);
  text_->setMinimumHeight(100);
  column().addLayout(boxes);
  column().addWidget(text_, 1);
  auto* const example = new QPushButton(u"Insert an e&xample"_s);
  example->setToolTip(u"24 English sentences, for a first capture"_s);
  connect(example, &QPushButton::clicked, this, [this] { text_->setPlainText(exampleText()); });
  column().addWidget(example, 0, Qt::AlignLeft);
  text_file_ = addPath(u"or a text &file"_s, u"text file"_s, [this](const QString& path) {
    return QFileDialog::getOpenFileName(this, u"Text"_s, path, u"Text (*.txt);;All (*)"_s);
  });
  text_file_->setText(request_.text_file);
  output_ = addPath(u"&Save as"_s, u"capture file"_s, [this](const QString& path) {
    return QFileDialog::getSaveFileName(this, windowTitle(), path, u"Captures (*.h5)"_s, nullptr,
                                        QFileDialog::DontConfirmOverwrite);
  });
  output_->setText(request_.output);
  output_->setToolTip(
      u"With several checkpoints, each has its own file with its label in the name"_s);
  addForm(new OptionForm(request_.form), QDialogButtonBox::Ok);
  findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->setText(u"&Capture"_s);
  text_->setFocus();
}

void CaptureDialog::apply() {
  CaptureRequest request = request_;
  request.models.clear();
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i]->isChecked()) request.models.push_back(request_.models[i]);
  }
  request.text = request_.text = text_->toPlainText();
  request.text_file = request_.text_file = text_file_->text();
  request.output = request_.output = output_->text();
  run_.start(request);
}

}  // namespace lime::explorer

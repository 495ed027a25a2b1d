// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/form_dialog.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPalette>
#include <QPushButton>
#include <QWidget>
#include <exception>
#include <initializer_list>

#include "explorer/widgets/controls.h"

namespace lime::explorer {

FormDialog::FormDialog(const QString& title, QWidget* parent)
    : QDialog(parent), column_(new QVBoxLayout), problem_(new QLabel) {
  (new QHBoxLayout(this))->addLayout(column_);
  setWindowTitle(title);
  column_->addStrut(360);  // a minimum of the dialog would replace that of its layout
  problem_->setWordWrap(true);
  problem_->setForegroundRole(QPalette::BrightText);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  problem_->hide();
}

QLineEdit* FormDialog::addPath(const QString& label, const QString& name,
                               const std::function<QString(const QString&)>& select) {
  auto* const path = new QLineEdit;
  path->setAccessibleName(name);
  path->setMinimumWidth(360);
  auto* const button = new QPushButton(u"Browse..."_s);
  button->setAccessibleName(u"browse: %1"_s.arg(name));
  connect(button, &QPushButton::clicked, this, [path, select] {
    const QString selected = select(path->text());
    if (!selected.isEmpty()) path->setText(selected);
  });
  auto* const line = new QHBoxLayout;
  addLabelled(*line, label, path);
  line->setStretchFactor(path, 1);
  line->addWidget(button);
  column_->addLayout(line);
  return path;
}

void FormDialog::addForm(OptionForm* form, QDialogButtonBox::StandardButton accepts) {
  form_ = form;
  auto* const buttons = new QDialogButtonBox(accepts | QDialogButtonBox::Cancel);
  connect(buttons, &QDialogButtonBox::accepted, this, &FormDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &FormDialog::reject);
  for (QWidget* const widget : std::initializer_list<QWidget*>{form, problem_, buttons}) {
    column_->addWidget(widget);
  }
}

void FormDialog::accept() {
  QString problem = form_->problem();
  try {
    if (problem.isEmpty()) apply();
  } catch (const std::exception& error) {
    problem = toQString(error);
  }
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  if (problem.isEmpty()) QDialog::accept();
}

}  // namespace lime::explorer

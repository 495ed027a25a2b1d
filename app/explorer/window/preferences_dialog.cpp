// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/preferences_dialog.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QVBoxLayout>

#include "explorer/models/text.h"
#include "explorer/widgets/option_form.h"

namespace lime::explorer {

PreferencesDialog::PreferencesDialog(const Preferences& preferences, QWidget* parent)
    : QDialog(parent), preferences_(preferences), problem_(new QLabel) {
  setWindowTitle(QStringLiteral("Preferences"));
  form_ = new OptionForm(option_fields(preferences_));
  problem_->setWordWrap(true);
  problem_->setForegroundRole(QPalette::BrightText);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
  connect(buttons, &QDialogButtonBox::accepted, this, &PreferencesDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &PreferencesDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addWidget(form_);
  column->addWidget(problem_);
  column->addWidget(buttons);
  setMinimumWidth(360);
}

void PreferencesDialog::accept() {
  QString problem = form_->problem();
  try {
    preferences_.validate();
  } catch (const Error& error) {
    if (problem.isEmpty()) problem = toQString(error);
  }
  problem_->setText(problem);
  if (problem.isEmpty()) QDialog::accept();
}

}  // namespace lime::explorer

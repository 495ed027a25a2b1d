// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QString>
#include <QVBoxLayout>
#include <functional>

#include "explorer/models/text.h"
#include "explorer/widgets/option_form.h"

class QLabel;
class QLineEdit;
class QWidget;

namespace lime::explorer {

/// A form of options. Accepting applies them and closes, or shows why not and stays open.
class FormDialog : public QDialog {
  Q_OBJECT

 public:
  QString problem() const { return problem_->text(); }
  void accept() final;

 protected:
  FormDialog(const QString& title, QWidget* parent);

  QVBoxLayout& column() { return *column_; }
  /// Adds a line for a path with a button that selects it.
  /// @param select  asks the user for a path, from the present one; returns nothing if cancelled
  QLineEdit* addPath(const QString& label, const QString& name,
                     const std::function<QString(const QString&)>& select);
  /// Adds the form below what the column contains, and the buttons.
  void addForm(OptionForm* form, QDialogButtonBox::StandardButton accepts);
  /// Uses the options. @throws std::exception  where that is not possible
  virtual void apply() = 0;

 private:
  QVBoxLayout* column_;
  OptionForm* form_ = nullptr;
  QLabel* problem_;
};

}  // namespace lime::explorer

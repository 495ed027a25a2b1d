// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

#include "explorer/models/preferences.h"

class QLabel;

namespace lime::explorer {

class OptionForm;

/// Asks for preferences; closes only with valid ones.
class PreferencesDialog : public QDialog {
  Q_OBJECT

 public:
  PreferencesDialog(const Preferences& preferences, QWidget* parent = nullptr);

  const Preferences& preferences() const { return preferences_; }
  void accept() override;

 private:
  Preferences preferences_;
  OptionForm* form_;
  QLabel* problem_;
};

}  // namespace lime::explorer

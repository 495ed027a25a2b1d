// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/models/preferences.h"
#include "explorer/widgets/form_dialog.h"

class QWidget;

namespace lime::explorer {

class PreferencesDialog : public FormDialog {
  Q_OBJECT

 public:
  PreferencesDialog(const Preferences& preferences, QWidget* parent = nullptr);

  const Preferences& preferences() const { return preferences_; }

 protected:
  void apply() override { preferences_.validate(); }

 private:
  Preferences preferences_;
};

}  // namespace lime::explorer

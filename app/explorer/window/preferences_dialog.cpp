// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/preferences_dialog.h"

#include <QDialogButtonBox>
#include <QWidget>

#include "explorer/widgets/option_form.h"

namespace lime::explorer {

PreferencesDialog::PreferencesDialog(const Preferences& preferences, QWidget* parent)
    : FormDialog(u"Preferences"_s, parent), preferences_(preferences) {
  addForm(new OptionForm(preferences_), QDialogButtonBox::Ok);
}

}  // namespace lime::explorer

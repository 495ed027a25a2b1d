// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "explorer/models/capture_locator.h"
#include "explorer/models/preferences.h"

namespace lime::explorer {

// What is kept between sessions, in QSettings.

/// A preference that cannot be read keeps its default.
void loadPreferences(Preferences& preferences);
void savePreferences(const Preferences& preferences);

/// Captures that have been located, see CaptureLocator.
CaptureLocator::Moves loadMoves();

/// Where file dialogs start: the folder of what was opened last.
QString lastFolder();

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "explorer/models/capture_locator.h"
#include "explorer/models/preferences.h"

class QMainWindow;

namespace lime::explorer {

class View;
class Workspace;

// These functions store what outlives a session, in QSettings.

/// Loads the preferences; one that cannot be read keeps its default.
Preferences loadPreferences();
void savePreferences(const Preferences& preferences);

CaptureLocator::Moves loadMoves();

/// Returns the folder of the last opened file, where file dialogs start.
QString lastFolder();

/// Restores the sizes of the window, and recent files.
void loadLayout(QMainWindow& window, Workspace& workspace);

/// Stores the sizes of the window, recent files, and where captures were located.
void saveLayout(const QMainWindow& window, const Workspace& workspace);

/// Stores the open documents, the selection, and the states of the views, in the order of
/// allViews(). @param view  id of the current one
void saveSession(const QString& view, const std::vector<View*>& views, const Workspace& workspace);

/// Opens the documents of the last session. When all are open, restores the selection and the
/// states of the views, which name documents, and calls `restored` with a line for each document
/// and view that could not be restored.
/// @return id of the view that was current
QString loadSession(Workspace& workspace, const std::vector<View*>& views,
                    const std::function<void(const QStringList& problems)>& restored);

}  // namespace lime::explorer

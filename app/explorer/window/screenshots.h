// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace lime::explorer {

class MainWindow;

/// Writes a PNG of every view of the open documents, VIEW.png; without documents of the start page,
/// start.png, and of the answer to each of its questions, question-1.png and so on.
/// @throws IoError  if a file cannot be written.
void saveScreenshots(MainWindow& window, const QString& folder);

}  // namespace lime::explorer

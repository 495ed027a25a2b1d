// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

class QWidget;

namespace lime::explorer {

/// Returns the path of a page of docs/, next to the program or in a folder above it; empty if the
/// manual is not installed.
QString manualPage(const QString& page);

/// Shows a page of the manual in a window of its own, at `heading` if it is not empty.
void showPage(const QString& path, const QString& heading, QWidget* parent);

}  // namespace lime::explorer

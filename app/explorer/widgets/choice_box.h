// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QVariant>

class QComboBox;
class QHBoxLayout;

namespace lime::explorer {

/// Adds `label` and a new box to `bar`. The mnemonic of the label gives the box the focus, and the
/// label is its accessible name.
QComboBox* addChoiceBox(QHBoxLayout& bar, const QString& label, const QString& toolTip);

/// Adds an entry with a tool tip.
void addChoice(QComboBox& box, const QString& text, const QVariant& data, const QString& toolTip);

/// Shows the entry with this data; leaves the box as it is where there is none.
void selectData(QComboBox& box, const QVariant& data);

/// Replaces the entries by `names`, which are their data too, each once. Keeps the selected one.
void setNames(QComboBox& box, const QStringList& names);

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QVariant>

class QComboBox;
class QHBoxLayout;

namespace lime::explorer {

/// Puts `label` and a new box behind what `bar` holds; the mnemonic of the label gives the box the
/// focus, and the label is its accessible name.
QComboBox* addChoiceBox(QHBoxLayout& bar, const QString& label, const QString& toolTip);

/// Shows the entry with this data, or leaves the box as it is where there is none.
void chooseData(QComboBox& box, const QVariant& data);

}  // namespace lime::explorer

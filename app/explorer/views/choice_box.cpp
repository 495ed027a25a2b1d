// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/choice_box.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>

namespace lime::explorer {

QComboBox* addChoiceBox(QHBoxLayout& bar, const QString& label, const QString& toolTip) {
  auto* const box = new QComboBox;
  auto* const text = new QLabel(label);
  text->setBuddy(box);
  box->setToolTip(toolTip);
  box->setAccessibleName(QString(label).remove(QLatin1Char('&')));
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  bar.addWidget(text);
  bar.addWidget(box);
  return box;
}

void chooseData(QComboBox& box, const QVariant& data) {
  const int at = box.findData(data);
  if (at >= 0) box.setCurrentIndex(at);
}

}  // namespace lime::explorer

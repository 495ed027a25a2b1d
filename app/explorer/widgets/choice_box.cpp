// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/choice_box.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>

#include "explorer/models/text.h"

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

void addChoice(QComboBox& box, const QString& text, const QVariant& data, const QString& toolTip) {
  box.addItem(text, data);
  box.setItemData(box.count() - 1, toolTip, Qt::ToolTipRole);
}

void setNames(QComboBox& box, const QStringList& names) {
  const QSignalBlocker quiet(&box);
  const QVariant wanted = box.currentData();
  box.clear();
  for (const QString& name : names) {
    if (box.findData(name) < 0) box.addItem(shownText(name.toStdString()), name);
  }
  selectData(box, wanted);
}

void selectData(QComboBox& box, const QVariant& data) {
  const int at = box.findData(data);
  if (at >= 0) box.setCurrentIndex(at);
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/option_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <algorithm>
#include <string>
#include <utility>

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

QString wordsOfValue(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return toQString(value.get<std::string>());
  if (!value.is_array()) return toQString(value.dump());
  QStringList items;
  for (const Json& item : value) items << wordsOfValue(item);
  return items.join(u',');
}

}  // namespace

OptionForm::OptionForm(std::vector<OptionField> fields)
    : fields_(std::move(fields)), problems_(fields_.size()) {
  auto* const form = new QFormLayout(this);
  form->setContentsMargins(0, 0, 0, 0);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    QWidget* const editor = makeEditor(i);
    editor->setToolTip(toQString(fields_[i].help));
    editor->setAccessibleName(wordsOf(fields_[i].name));
    editor->setAccessibleDescription(toQString(fields_[i].help));
    editor->setObjectName(toQString(fields_[i].name));
    form->addRow(fields_[i].is_flag ? QString() : wordsOf(fields_[i].name), editor);
  }
}

QWidget* OptionForm::makeEditor(std::size_t index) {
  const OptionField& field = fields_[index];
  const QString value = wordsOfValue(field.value());
  if (field.is_flag) {
    auto* const box = new QCheckBox(wordsOf(field.name));
    box->setChecked(field.value().get<bool>());
    connect(box, &QCheckBox::toggled, this,
            [this, index](bool on) { assign(index, on ? u"true"_s : u"false"_s); });
    return box;
  }
  // Also of an enumeration that may be unset, which has no choices.
  const QStringList choices = toQString(field.type).split(u'|');
  if (choices.size() > 1 && !field.is_list) {
    auto* const box = new QComboBox;
    box->addItems(choices);
    box->setCurrentIndex(box->findText(value));
    box->setPlaceholderText(u"automatic"_s);
    connect(box, &QComboBox::textActivated, this,
            [this, index](const QString& text) { assign(index, text); });
    return box;
  }
  auto* const line = new QLineEdit(value);
  connect(line, &QLineEdit::textChanged, this,
          [this, index](const QString& text) { assign(index, text); });
  return line;
}

void OptionForm::assign(std::size_t index, const QString& text) {
  problems_[index].clear();
  try {
    const QStringList values =
        fields_[index].is_list ? text.split(u',', Qt::SkipEmptyParts) : QStringList{text};
    std::vector<std::string> items;
    for (const QString& value : values) items.push_back(value.toStdString());
    fields_[index].assign(items);
  } catch (const Error& error) {
    problems_[index] = toQString(error);
  }
  Q_EMIT changed();
}

QString OptionForm::problem() const {
  const auto first = std::ranges::find_if_not(problems_, &QString::isEmpty);
  return first == problems_.end() ? QString() : *first;
}

}  // namespace lime::explorer

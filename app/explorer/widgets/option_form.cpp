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

const QString kAutomatic = u"automatic"_s;  // of an option that is not set

QString wordsOfValue(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return toQString(value.get<std::string>());
  if (!value.is_array()) return toQString(value.dump());
  QStringList items;
  for (const Json& item : value) items << wordsOfValue(item);
  return items.join(u',');
}

/// Returns a value as the texts of which a field is assigned.
std::vector<std::string> textsOf(const Json& value) {
  if (!value.is_array()) return {wordsOfValue(value).toStdString()};
  std::vector<std::string> texts;
  for (const Json& item : value) texts.push_back(wordsOfValue(item).toStdString());
  return texts;
}

}  // namespace

OptionForm::OptionForm(std::vector<OptionField> fields, std::function<void()> reset,
                       const Json& defaults)
    : fields_(std::move(fields)), reset_(std::move(reset)), problems_(fields_.size()) {
  auto* const form = new QFormLayout(this);
  form->setContentsMargins(0, 0, 0, 0);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    QWidget* const editor = makeEditor(i, defaults.at(fields_[i].name).is_null());
    editor->setToolTip(toQString(fields_[i].help));
    editor->setAccessibleName(wordsOf(fields_[i].name));
    editor->setAccessibleDescription(toQString(fields_[i].help));
    editor->setObjectName(toQString(fields_[i].name));
    form->addRow(fields_[i].is_flag ? QString() : wordsOf(fields_[i].name), editor);
  }
}

QWidget* OptionForm::makeEditor(std::size_t index, bool can_be_unset) {
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
    if (can_be_unset) box->addItem(kAutomatic);
    box->addItems(choices);
    box->setCurrentText(value.isEmpty() ? kAutomatic : value);
    connect(box, &QComboBox::textActivated, this, [this, index, can_be_unset](const QString& text) {
      can_be_unset&& text == kAutomatic ? unset(index) : assign(index, text);
    });
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

void OptionForm::unset(std::size_t index) {
  std::vector<Json> values;
  for (const OptionField& field : fields_) values.push_back(field.value());
  reset_();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (i != index && !values[i].is_null()) fields_[i].assign(textsOf(values[i]));
  }
  problems_[index].clear();
  Q_EMIT changed();
}

QString OptionForm::problem() const {
  const auto first = std::ranges::find_if_not(problems_, &QString::isEmpty);
  return first == problems_.end() ? QString() : *first;
}

}  // namespace lime::explorer

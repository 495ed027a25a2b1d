// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/dialogs.h"

#include <QCheckBox>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QFormLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QSettings>
#include <QTreeWidget>

#include "viz/figure_file.h"

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

constexpr QSize kPreview(380, 460);
const QString kLastFolder = u"export/folder"_s;

/// Returns the keys and mouse gestures of every figure.
std::vector<Shortcut> figureShortcuts() {
  return {{u"Zoom at the pointer"_s, u"Wheel"_s},
          {u"Zoom along x, along y"_s, u"Ctrl+Wheel, Shift+Wheel"_s},
          {u"Move a figure"_s, u"Drag, Ctrl+Arrows"_s},
          {u"Show the whole figure"_s, u"Double click"_s},
          {u"Next control"_s, u"Tab"_s}};
}

void addShortcuts(QTreeWidget& tree, const std::vector<Shortcut>& shortcuts) {
  for (const Shortcut& shortcut : shortcuts)
    new QTreeWidgetItem(&tree, {shortcut.what, shortcut.keys});
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

FormDialog::FormDialog(const QString& title, QWidget* parent)
    : QDialog(parent), column_(new QVBoxLayout), problem_(new QLabel) {
  (new QHBoxLayout(this))->addLayout(column_);
  setWindowTitle(title);
  column_->addStrut(360);  // a minimum of the dialog would replace that of its layout
  problem_->setWordWrap(true);
  problem_->setForegroundRole(QPalette::BrightText);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  problem_->hide();
}

QLineEdit* FormDialog::addPath(const QString& label, const QString& name,
                               const std::function<QString(const QString&)>& select) {
  auto* const path = new QLineEdit;
  path->setAccessibleName(name);
  path->setMinimumWidth(360);
  auto* const button = new QPushButton(u"Browse..."_s);
  button->setAccessibleName(u"browse: %1"_s.arg(name));
  connect(button, &QPushButton::clicked, this, [path, select] {
    const QString selected = select(path->text());
    if (!selected.isEmpty()) path->setText(selected);
  });
  auto* const line = new QHBoxLayout;
  addLabelled(*line, label, path);
  line->setStretchFactor(path, 1);
  line->addWidget(button);
  column_->addLayout(line);
  return path;
}

void FormDialog::addForm(OptionForm* form, QDialogButtonBox::StandardButton accepts) {
  form_ = form;
  auto* const buttons = new QDialogButtonBox(accepts | QDialogButtonBox::Cancel);
  connect(buttons, &QDialogButtonBox::accepted, this, &FormDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &FormDialog::reject);
  for (QWidget* const widget : std::initializer_list<QWidget*>{form, problem_, buttons}) {
    column_->addWidget(widget);
  }
}

void FormDialog::accept() {
  QString problem = form_->problem();
  try {
    if (problem.isEmpty()) apply();
  } catch (const std::exception& error) {
    problem = toQString(error);
  }
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  if (problem.isEmpty()) QDialog::accept();
}

ExportDialog::ExportDialog(Figure figure, Json provenance, QWidget* parent)
    : FormDialog(u"Export figure"_s, parent),
      figure_(std::move(figure)),
      provenance_(std::move(provenance)) {
  const QString folder = QSettings().value(kLastFolder, QDir::currentPath()).toString();
  path_ = addPath(u"&File"_s, u"file to write"_s, [this](const QString& path) {
    return QFileDialog::getSaveFileName(
        this, windowTitle(), path,
        u"Figures (*.pdf *.svg *.png);;Numbers (*.csv);;pgfplots (*.tex)"_s, nullptr,
        QFileDialog::DontConfirmOverwrite);
  });
  path_->setText(QDir(folder).filePath(toQString(figure_.name) + u".pdf"_s));
  auto* const kinds = new QLabel(
      u"The extension selects the format: .pdf, .svg, .png, .csv (numbers) or .tex (pgfplots)."_s);
  kinds->setWordWrap(true);
  column().addWidget(kinds);
  column().addSpacing(8);
  auto* const form = new OptionForm(option_fields(style_));
  addForm(form, QDialogButtonBox::Save);
  connect(form, &OptionForm::changed, &redraw_, qOverload<>(&QTimer::start));
  redraw_.setSingleShot(true);
  connect(&redraw_, &QTimer::timeout, this, &ExportDialog::drawPreview);
  preview_ = new QLabel;
  preview_->setAccessibleName(u"preview"_s);
  preview_->setWordWrap(true);
  preview_->setFixedSize(kPreview);
  preview_->setAlignment(Qt::AlignCenter);
  preview_->setFrameShape(QFrame::StyledPanel);
  layout()->addWidget(preview_);
  redraw_.start(0);
}

void ExportDialog::drawPreview() {
  QElapsedTimer timer;
  timer.start();
  const double ratio = devicePixelRatioF();
  try {
    QImage image = preview_figure(figure_, style_, (QSizeF(kPreview) * ratio).toSize());
    image.setDevicePixelRatio(ratio);
    preview_->setPixmap(QPixmap::fromImage(image));
  } catch (const Error& error) {
    preview_->setText(toQString(error));
  }
  // Typing is not slowed down by a figure that takes long.
  redraw_.setInterval(std::clamp<int>(static_cast<int>(10 * timer.elapsed()), 150, 3000));
}

void ExportDialog::apply() {
  style_.validate();
  write_figure(toPath(path_->text()), figure_, style_, provenance_);
  QSettings().setValue(kLastFolder, QFileInfo(path_->text()).absolutePath());
}

PreferencesDialog::PreferencesDialog(const Preferences& preferences, QWidget* parent)
    : FormDialog(u"Preferences"_s, parent), preferences_(preferences) {
  addForm(new OptionForm(option_fields(preferences_)), QDialogButtonBox::Ok);
}

ShortcutDialog::ShortcutDialog(const QList<QAction*>& actions,
                               const std::vector<Shortcut>& shortcuts, QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(u"Shortcuts"_s);
  auto* const tree = new QTreeWidget;
  tree->setColumnCount(2);
  tree->setHeaderLabels({u"Action"_s, u"Keys"_s});
  tree->setRootIsDecorated(false);
  tree->setAlternatingRowColors(true);
  tree->setAccessibleName(u"shortcuts"_s);
  for (const QAction* const action : actions) {
    if (action->shortcut().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& sequence : action->shortcuts()) {
      keys << sequence.toString(QKeySequence::NativeText);
    }
    QString text = action->text();
    text.remove(u'&');
    auto* const item = new QTreeWidgetItem(tree, {text, keys.join(u", "_s)});
    item->setToolTip(0, action->statusTip());
  }
  addShortcuts(*tree, shortcuts);
  addShortcuts(*tree, figureShortcuts());
  tree->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addWidget(tree);
  column->addWidget(buttons);
  resize(520, 560);
}

}  // namespace lime::explorer

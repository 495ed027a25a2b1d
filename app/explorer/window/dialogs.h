// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAction>
#include <QDialog>
#include <QDialogButtonBox>
#include <QTimer>

#include "explorer/widgets/view.h"

namespace lime::explorer {

/// Edits an options struct, by the same description as its command line.
class OptionForm : public QWidget {
  Q_OBJECT

 public:
  /// @param fields  option_fields() of a struct that outlives the form; changes go there at once.
  explicit OptionForm(std::vector<OptionField> fields);

  /// Returns the first field that could not be read, as one line; empty if all are fine.
  QString problem() const;

 Q_SIGNALS:
  void changed();

 private:
  QWidget* makeEditor(std::size_t index);
  void assign(std::size_t index, const QString& text);

  std::vector<OptionField> fields_;
  std::vector<QString> problems_;
};

/// A form of options. Accepting applies them and closes, or shows why not and stays open.
class FormDialog : public QDialog {
  Q_OBJECT

 public:
  QString problem() const { return problem_->text(); }
  void accept() final;

 protected:
  FormDialog(const QString& title, QWidget* parent);

  QVBoxLayout& column() { return *column_; }
  /// Adds a line for a path with a button that selects it.
  /// @param select  asks the user for a path, from the present one; returns nothing if cancelled
  QLineEdit* addPath(const QString& label, const QString& name,
                     const std::function<QString(const QString&)>& select);
  /// Adds the form below what the column contains, and the buttons.
  void addForm(OptionForm* form, QDialogButtonBox::StandardButton accepts);
  /// Uses the options. @throws std::exception  where that is not possible
  virtual void apply() = 0;

 private:
  QVBoxLayout* column_;
  OptionForm* form_ = nullptr;
  QLabel* problem_;
};

/// Asks for path and style of a figure and writes it: PDF, SVG, PNG, CSV or pgfplots, with the
/// options of lime-figure.
class ExportDialog : public FormDialog {
  Q_OBJECT

 public:
  ExportDialog(Figure figure, Json provenance, QWidget* parent = nullptr);

  void setPath(const QString& path) { path_->setText(path); }
  QString path() const { return path_->text(); }

 protected:
  void apply() override;

 private:
  void drawPreview();

  Figure figure_;
  Json provenance_;
  FigureStyle style_;
  QLineEdit* path_;
  QLabel* preview_;
  QTimer redraw_;  ///< of the preview, once typing pauses
};

class PreferencesDialog : public FormDialog {
  Q_OBJECT

 public:
  PreferencesDialog(const Preferences& preferences, QWidget* parent = nullptr);

  const Preferences& preferences() const { return preferences_; }

 protected:
  void apply() override { preferences_.validate(); }

 private:
  Preferences preferences_;
};

/// Lists all shortcuts: those of the menus and of the current view.
class ShortcutDialog : public QDialog {
  Q_OBJECT

 public:
  ShortcutDialog(const QList<QAction*>& actions, const std::vector<Shortcut>& shortcuts,
                 QWidget* parent = nullptr);
};

}  // namespace lime::explorer

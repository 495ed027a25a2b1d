// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <cstddef>
#include <vector>

#include "core/options.h"

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

}  // namespace lime::explorer

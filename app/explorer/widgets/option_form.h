// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <cstddef>
#include <functional>
#include <vector>

#include "core/options.h"

namespace lime::explorer {

/// Edits an options struct, by the same description as its command line.
class OptionForm : public QWidget {
  Q_OBJECT

 public:
  /// @param options  must outlive the form; changes go there at once. All its members must be
  ///                 described.
  template <DescribedOptions T>
  explicit OptionForm(T& options)
      : OptionForm(
            option_fields(options), [&options] { options = T(); }, options_to_json(T())) {}

  /// Returns the first field that could not be read, as one line; empty if all are fine.
  QString problem() const;

 Q_SIGNALS:
  void changed();

 private:
  OptionForm(std::vector<OptionField> fields, std::function<void()> reset, const Json& defaults);
  QWidget* makeEditor(std::size_t index, bool can_be_unset);
  void assign(std::size_t index, const QString& text);
  /// Gives a field its default; the others keep their values.
  void unset(std::size_t index);

  std::vector<OptionField> fields_;
  std::function<void()> reset_;  ///< gives all fields their defaults
  std::vector<QString> problems_;
};

}  // namespace lime::explorer

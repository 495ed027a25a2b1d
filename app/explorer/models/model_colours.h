// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>

namespace lime::explorer {

/// Numbers the colours of models. A model has names: labels, paths and checksums of its documents.
/// Names that prove to be of one model are joined, in whatever order they become known.
class ModelColours {
 public:
  /// Joins the models that have one of `names`, and gives the result all of them; the lowest number
  /// stays. @return whether the number of a known name changed
  bool join(const QStringList& names);
  bool knows(const QString& name) const { return numbers_.contains(name); }
  /// Returns the number of the model that has this name, from 0; -1 if none has it.
  int of(const QString& name) const { return numbers_.value(name, -1); }

 private:
  QHash<QString, int> numbers_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <memory>

#include "explorer/models/table_model.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// A sequence of a capture, as the list shows it.
struct SequenceRow {
  int number = 0;
  std::int64_t num_tokens = 0;
};

/// Lists the sequences of a capture; texts are looked up when they are shown. Sorts by
/// Qt::UserRole.
class SentencesModel : public TableModel<SequenceRow> {
 public:
  enum Column { kNumber, kTokens, kText, kColumns };

  SentencesModel();

  /// @param capture  may be null
  void setCapture(std::shared_ptr<const CaptureReader> capture);

 private:
  QString textOf(const SequenceRow& row) const;

  std::shared_ptr<const CaptureReader> capture_;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "explorer/models/table_model.h"

namespace lime {
class CaptureReader;
struct Sequence;
}  // namespace lime

namespace lime::explorer {

/// A sequence of a capture, as the list shows it.
struct SequenceRow {
  int number = 0;
  std::int64_t num_tokens = 0;
};

/// Lists the sequences of a capture, with their texts once showTexts() is called. Sorts by
/// Qt::UserRole.
class SentencesModel : public TableModel<SequenceRow> {
 public:
  enum Column { kNumber, kTokens, kText, kColumns };

  SentencesModel();

  /// @param capture  may be null
  void setCapture(std::shared_ptr<const CaptureReader> capture);
  const std::shared_ptr<const CaptureReader>& capture() const { return capture_; }
  /// Shows the texts. @param sequences  of capture(), which owns them
  void showTexts(const std::vector<Sequence>& sequences);

 private:
  QString textOf(const SequenceRow& row) const;

  std::shared_ptr<const CaptureReader> capture_;
  /// CaptureReader::sequences(), which may wait for readers on other threads; null: not read yet.
  const std::vector<Sequence>* sequences_ = nullptr;
};

}  // namespace lime::explorer

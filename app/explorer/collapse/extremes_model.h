// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>

#include "explorer/models/table_model.h"

namespace lime::explorer {

/// A sequence at one end of a layer's entropies.
struct ExtremeSequence {
  int document = 0;  ///< the capture's id in the workspace
  QString label;     ///< of the capture
  bool is_lowest = true;
  std::int64_t sequence = 0;
  double entropy = 0.0;  ///< nats
  double ceiling = 0.0;
  QString text;

  bool operator==(const ExtremeSequence&) const = default;
};

/// Lists the sequences at the extremes of a layer, of several captures.
class ExtremesModel : public TableModel<ExtremeSequence> {
 public:
  enum Column { kModel, kEnd, kEntropy, kSequence, kText, kColumns };

  ExtremesModel();
};

}  // namespace lime::explorer

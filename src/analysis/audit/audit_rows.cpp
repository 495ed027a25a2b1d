// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_rows.h"

#include "store/results/columns.h"

namespace lime {

const std::vector<Column>& audit_place_columns() {
  static const std::vector<Column> kColumns = {
      col::kSite,   col::kLayer,        col::kOtherLayer,  col::kScale,
      col::kHead,   col::kSource,       col::kSourceLayer, col::kSourceHead,
      col::kStream, col::kSourceStream, col::kExpert,      col::kOtherExpert};
  return kColumns;
}

}  // namespace lime

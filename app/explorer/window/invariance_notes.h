// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <string>
#include <string_view>
#include <vector>

#include "explorer/models/text.h"

namespace lime::explorer {

/// A row of the table "By measurement" of docs/invariance.md, in Markdown; a test compares them.
struct InvarianceNote {
  std::string_view measurement;
  std::string_view weights;  ///< what changes of coordinates do to it
  std::string_view advice;   ///< what to do; may be empty
};
const std::vector<InvarianceNote>& invarianceNotes();

/// Returns the rows of these measurements as HTML, in the order of the names.
QString invarianceHtml(const std::vector<std::string>& measurements);

}  // namespace lime::explorer

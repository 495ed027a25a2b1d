// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/analysis.h"

#include "analysis/engine/outlier_rows.h"

namespace lime {

std::vector<std::string> notes_on_rows(std::span<const ChosenCapture> captures) {
  std::vector<std::string> notes;
  for (const ChosenCapture& capture : captures) {
    notes.insert(notes.end(), capture.notes.begin(), capture.notes.end());
  }
  for (std::string& note : notes_on_massive_rows(captures)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/analysis.h"

namespace lime::explorer {

/// Returns the analysis with inputs that have no hashes of their files: the explorer does not store
/// its results, and reading all of a large capture takes longer than most of what it shows first.
inline Analysis unhashed(Analysis analysis) {
  for (const AnalysisInput& input : analysis.inputs) {
    analysis.hashed_inputs.push_back(
        {.path = input.path, .sha256 = {}, .label = input.label, .text_sha256 = input.text_sha256});
  }
  return analysis;
}

}  // namespace lime::explorer

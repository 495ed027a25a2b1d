// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/engine/class_rows.h"
#include "analysis/separability/separability_analysis.h"

namespace lime {

/// Adds to the rows of prepare_separability() what people need to read them: the words and their
/// numbers, what each method is, chance, and how far the fits converged.
/// @param chosen  rows of each capture.
Report make_separability_report(Results results, const std::vector<ChosenCapture>& captures,
                                const std::vector<ClassRows>& chosen,
                                const SeparabilityOptions& options);

}  // namespace lime

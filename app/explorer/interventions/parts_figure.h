// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "explorer/interventions/part_edits.h"
#include "store/results_file.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Draws the parts of a decoder: a row per layer, columns attention, MLP and each head. Colours are
/// the change in loss without a part, where a sweep measured it; without one, its scale. Skipped
/// parts are crossed out, scaled and patched ones have a mark.
/// @param sublayers, heads  results of lime-capture sweep; may be null
Figure partsFigure(const std::vector<PartEdit>& edits, int num_layers, int num_heads,
                   const Results* sublayers, const Results* heads, int layer_base);

/// Returns the part of a column of partsFigure().
PartEdit partAt(int layer, int column);
/// Returns its column; those of a layer are the first two.
int columnOf(const PartEdit& part);

/// Returns the swept part that the row of a sweep names; nothing for routes and totals.
std::optional<PartEdit> partOf(const ResultRow& row);
/// Returns the row of a sweep about this part; null if it has none.
const ResultRow* sweptPart(const Results& sweep, const PartEdit& part);
/// Describes it: "without the MLP of layer 3: loss +0.1 nats per token [+0.05, +0.15]".
QString describePart(const ResultRow& row, const PartEdit& part, int layer_base);

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "analysis/blimp/blimp_rows.h"
#include "core/files/atomic_file.h"

namespace lime {

/// Writes every judgement as a line of JSON and commits the file (docs/blimp.md, "Judgements").
///
/// Zero-shot, a line per pair: label, task, pair, both sentences with log-likelihood and tokens,
/// verdict. Probes, a line per pair and layer: label, site, layer, task, pair, good_right,
/// bad_right.
/// @param keys, units  of the analysis, in their order
/// @throws IoError
void write_judgements(AtomicFile& file, const BlimpShared& shared,
                      const std::vector<ResultRow>& keys, std::span<const UnitResult> units);

}  // namespace lime

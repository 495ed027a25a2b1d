// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/analysis.h"
#include "analysis/engine/run_options.h"
#include "analysis/geometry/geometry_options.h"

namespace lime {

/// Prepares the geometry of some layers: how many directions their rows take up, how alike they
/// are, how the path of the tokens bends, which activations stick out, and the dimension of the set
/// that they lie on. docs/geometry.md has the definitions and sources.
///
/// One unit per capture, site and layer; in it one row per measure (geometry_rows.h). One pass over
/// the layer, sequence by sequence; where the capture's statistics are of other rows than those
/// used, a first pass finds the mean.
/// @throws InvalidArgument  if a capture holds pooled rows or only some tokens, a sequence of one
///                          token, or lacks a site or layer.
/// @throws IoError, FormatError  as CaptureReader.
Analysis prepare_geometry(const GeometryAnalysisOptions& options, const RunOptions& run);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/analysis.h"
#include "analysis/engine/run_options.h"
#include "analysis/geometry/geometry_options.h"

namespace lime {

/// Prepares the geometry of some layers: ranks, similarity, curvature, massive activations and
/// intrinsic dimension. docs/geometry.md has the definitions and sources.
///
/// One unit per capture, site and layer; in it one row per measure (geometry_rows.h). One pass over
/// the layer, sequence by sequence; if the capture's statistics cover other rows than those used, a
/// first pass computes the mean.
/// @throws InvalidArgument  if a capture holds pooled rows or only some tokens, a sequence of one
///                          token, or lacks a site or layer.
/// @throws IoError, FormatError  as CaptureReader.
Analysis prepare_geometry(const GeometryAnalysisOptions& options, const RunOptions& run);

}  // namespace lime

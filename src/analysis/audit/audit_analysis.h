// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/audit/audit_options.h"
#include "analysis/engine/analysis.h"

namespace lime {

/// Prepares an audit: which measurements change when the weights of a model change and its function
/// does not, or with the length, order and repetition of the text (docs/invariance.md). Captures
/// the checkpoint, its transformed copies or the texts first, as make_variants(). The units are
/// those of every measurement of every variant, whose rows have kind `value`; rows without a kind
/// are the changes, as change_rows().
///
/// A measurement that is undefined for the model or a text, such as a power law over more
/// eigenvalues than there are, has a row of kind `undefined` with the reason.
/// @throws InvalidArgument  as make_variants(), or if there are fewer than five sequences.
Analysis prepare_audit(const AuditOptions& options, const RunOptions& run);

}  // namespace lime

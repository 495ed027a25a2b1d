// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Multipliers of embeddings, residuals, attention and logits.
extern const Family kGranite;
/// Granite with mixtures of experts.
extern const Family kGraniteMoe;

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Released MUDD models: RMSNorm, SwiGLU.
extern const Family kMuddFormer;
/// The variant of the released MUDD models with Pythia's blocks.
extern const Family kMuddPythia;

}  // namespace lime

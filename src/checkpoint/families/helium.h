// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LLaMA's blocks with interleaved rotation.
extern const Family kHelium;

}  // namespace lime

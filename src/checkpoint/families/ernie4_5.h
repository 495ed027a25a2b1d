// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LLaMA's blocks with interleaved rotation and one switch for all biases.
extern const Family kErnie45;

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Learned positions, matrices stored as [inputs, outputs].
extern const Family kGpt2;

}  // namespace lime

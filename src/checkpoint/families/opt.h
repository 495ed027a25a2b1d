// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Norms before or after the parts, learned positions from row 2 on.
extern const Family kOpt;

}  // namespace lime

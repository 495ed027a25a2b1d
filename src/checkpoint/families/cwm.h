// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Windows in all layers but every fourth, beginning with the first.
extern const Family kCwm;

}  // namespace lime

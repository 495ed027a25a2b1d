// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Some layers without rotary embedding.
extern const Family kSmolLm3;

}  // namespace lime

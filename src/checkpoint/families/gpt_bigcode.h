// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// GPT-2 with one key-value head (StarCoder, SantaCoder).
extern const Family kGptBigCode;

}  // namespace lime

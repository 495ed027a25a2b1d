// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// GPT-2 with windows in some layers and scores that are not divided.
extern const Family kGptNeo;

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// GPT-NeoX and Pythia: parallel attention and MLP, partial rotation.
extern const Family kGptNeoX;

}  // namespace lime

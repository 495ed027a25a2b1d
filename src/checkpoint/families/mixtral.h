// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Mistral with mixtures of experts.
extern const Family kMixtral;

}  // namespace lime

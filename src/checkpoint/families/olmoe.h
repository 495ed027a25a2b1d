// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// OLMoE: norms of queries and keys, and mixtures of experts.
extern const Family kOlmoe;

}  // namespace lime

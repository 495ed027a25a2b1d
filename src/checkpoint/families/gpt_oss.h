// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// gpt-oss: attention sinks, and mixtures of experts with biases and a bounded activation.
extern const Family kGptOss;

}  // namespace lime

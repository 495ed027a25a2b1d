// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// A sliding window in every layer.
extern const Family kMistral;
/// A `mistral` with `layer_types`, as transformers 5 writes it.
extern const Family kMinistral;

}  // namespace lime

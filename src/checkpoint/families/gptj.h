// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// A plain MLP beside attention, partial interleaved rotation, a bias of the output projection.
extern const Family kGptJ;
/// GPT-J with a fused projection in four parts.
extern const Family kCodeGen;

}  // namespace lime

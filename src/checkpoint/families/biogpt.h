// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// OPT's blocks with scaled embeddings.
extern const Family kBioGpt;

}  // namespace lime

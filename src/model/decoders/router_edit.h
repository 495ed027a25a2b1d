// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "checkpoint/router_edit.h"

namespace lime {

class Decoder;

/// Scales the routers of a decoder in place. Throws as check_router_edits().
void apply_router_edits(const std::vector<RouterEdit>& edits, const Decoder& decoder);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "explorer/views/view.h"

namespace lime::explorer {

/// All views in the order of the side bar. A new view is one pair of files and its line here.
const std::vector<ViewKind>& allViews();

}  // namespace lime::explorer

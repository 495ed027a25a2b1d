// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lime {

/// Returns true if transformers has an architecture of this `model_type`, supported here or not.
/// Such a name is no typo of another.
bool is_transformers_name(std::string_view model_type);

}  // namespace lime

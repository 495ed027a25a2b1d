// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace lime {

/// Returns "--layer-base" for the field "layer_base".
std::string option_name(std::string_view field);

/// Converts a value of OptionField::value for OptionField::assign: the items of a list, nothing for
/// null, else one string.
std::vector<std::string> option_texts(const Json& value);

}  // namespace lime

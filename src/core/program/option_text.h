// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace lime {

/// "--layer-base" of the field "layer_base".
std::string option_name(std::string_view field);

/// A value of OptionField::value as OptionField::assign takes it: the items of a list, nothing for
/// null, else one text.
std::vector<std::string> option_texts(const Json& value);

}  // namespace lime

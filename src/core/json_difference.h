// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/json.h"

namespace lime {

/// Where two JSON values differ.
struct JsonDifference {
  std::string path;            ///< keys down to it: "options.layers"; empty for the whole values
  std::optional<Json> before;  ///< no value where the key is absent
  std::optional<Json> now;
};

/// Whether objects of equal entries in another order are equal.
enum class KeyOrder { kIgnored, kCounts };

/// The first difference: entries of `before` in their order, then those that only `now` has. Lists
/// are one value each. Of objects that differ in the order of their keys only, it gives the keys.
/// @return no value if there is none.
std::optional<JsonDifference> first_difference(const Json& before, const Json& now,
                                               KeyOrder order = KeyOrder::kIgnored);

/// "options.layers was 'all', now '0-3'", "options.quick is new, true" or
/// "options.quick was true, now absent"; values longer than 60 bytes are cut where the cut ones
/// still differ.
std::string to_text(const JsonDifference& difference);

}  // namespace lime

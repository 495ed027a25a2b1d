// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace lime {

/// Returns the name of the difference of two models or weightings: "LIMe - LLaMA".
std::string difference_name(const std::string& minuend, const std::string& subtrahend);

/// Returns minuend and subtrahend; nullopt for a name of one thing.
std::optional<std::pair<std::string, std::string>> terms_of_difference(const std::string& name);

inline bool is_difference_name(const std::string& name) {
  return terms_of_difference(name).has_value();
}

}  // namespace lime

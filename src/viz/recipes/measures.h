// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lime {

/// What an axis calls a measure or quantity of results, with its unit: "curvature (degrees)" for
/// "curvature". Names that it does not know stay, with blanks for underscores.
std::string measure_name(const std::string& measure);

/// The measures to draw of those that are `there`: the `wanted` ones, else of many those that
/// answer different questions. @throws InvalidArgument  if one is wanted that is not there.
std::vector<std::string> chosen_measures(const std::vector<std::string>& there,
                                         const std::vector<std::string>& wanted);

/// "***" below 0.001, "**" below 0.01, "*" below 0.05, else "".
std::string stars_of_p(double p);

/// What the stars mean.
inline constexpr const char* kStarsNote =
    "* p < 0.05, ** p < 0.01, *** p < 0.001, corrected after Holm";

/// A whole number with commas: "69,696".
std::string with_commas(double count);

/// True if `wanted` is empty, or has `measure`.
bool is_wanted(const std::vector<std::string>& wanted, const std::string& measure);

}  // namespace lime

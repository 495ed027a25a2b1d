// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

/// A cell of a table of RFC 4180: in quotes where it holds a comma, a quote or the end of a line
/// (a lone carriage return as well, at which many readers end the row).
std::string csv_cell(std::string_view text);

}  // namespace lime

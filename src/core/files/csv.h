// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

/// Returns a CSV cell as in RFC 4180: quoted if it contains a comma, a quote or a line end (also a
/// lone carriage return, at which many readers end the row).
std::string csv_cell(std::string_view text);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "store/results/result_row.h"

// Rows of results as JSON, for results files, journals and other files of lines. NaN and infinities
// are the strings "nan", "inf" and "-inf", since JSON has neither. An array with axes follows the
// list of their names, `"axes":["query","key"],"weight":[[1.0,null],[0.5,0.5]]`, with null for no
// element.

namespace lime {

Json row_to_json(const ResultRow& row);

/// Returns the text of a row as JSON files have it.
std::string json_text(const ResultRow& row);

/// Returns the text of a cell as JSON files have it: `"values"`, `0.5`, `null`.
std::string json_text(const ResultCell& cell);

/// Reads a row of a file: "nan", "inf" and "-inf" become numbers, and the lists that schema 1
/// stored as text ("0.9; 0.8") arrays. Unknown columns are kept.
/// @throws FormatError  if it is not an object, or a cell is neither a value nor numbers.
ResultRow row_from_json(const Json& object, std::string_view where);

/// Returns the number in a value of a file, also "nan", "inf" and "-inf"; no value if it has none.
std::optional<double> number_of(const Json& value);

/// Returns `value` with NaN and infinities replaced by the strings "nan", "inf" and "-inf".
Json results_value(const Json& value);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/results/columns.h"
#include "store/results/result_row.h"

namespace lime {

struct ResultsInput {
  std::string path;
  std::string sha256;
  std::string label;
  std::string text_sha256 = {};  ///< of the text that was captured; empty: unknown
};

/// A table of numbers with provenance, stored as JSON "lime-results/3" (docs/results_format.md).
struct Results {
  std::string metric;  ///< "entropy", "separability", ...
  std::vector<ResultsInput> inputs;
  Json options = Json::object();     ///< options_to_json() of the metric
  Json provenance = Json::object();  ///< tool, command, created_utc, ...
  std::vector<ResultRow> rows;
};

/// Writes `results` atomically. NaN and infinities become the strings "nan", "inf", "-inf".
/// @throws IoError
void write_results(const std::filesystem::path& path, const Results& results);
std::string results_to_json(const Results& results);

/// Reads results of this schema and of the earlier ones: "lime-results/2" had a row per element of
/// a matrix, "lime-results/1" also stored lists as text.
/// @throws IoError, FormatError  if it is not JSON or violates the schema; names the key.
Results read_results(const std::filesystem::path& path);

/// Returns the columns of all rows in order of first appearance, with the axes of arrays.
std::vector<std::string> results_columns(const Results& results);

/// Formats results as CSV (RFC 4180) with a header line and one line per row, or per element of an
/// array with axes; an absent value is an empty cell, another array one cell (cell_text()). Numbers
/// parse back to the same double.
std::string results_to_csv(const Results& results);

}  // namespace lime

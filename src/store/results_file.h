// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"

namespace lime {

/// An input file of a results file.
struct ResultsInput {
  std::string path;
  std::string sha256;
  std::string label;
  std::string text_sha256 = {};  ///< of the text that was captured; empty: unknown
};

/// A table of numbers with provenance, stored as JSON with schema "lime-results/1", readable by
/// pandas and jq (docs/results_format.md).
struct Results {
  std::string metric;  ///< "entropy", "separability", ...
  std::vector<ResultsInput> inputs;
  Json options = Json::object();     ///< options_to_json() of the metric
  Json provenance = Json::object();  ///< tool, command, created_utc, ...
  std::vector<Json> rows;            ///< flat objects: numbers, text, true/false or null
};

/// Writes `results` atomically. NaN and infinities become the strings "nan", "inf", "-inf".
/// @throws InvalidArgument  if a row is not a flat object.
/// @throws IoError
void write_results(const std::filesystem::path& path, const Results& results);
std::string results_to_json(const Results& results);

/// @throws IoError
/// @throws FormatError  if it is not JSON or violates the schema; names the key.
Results read_results(const std::filesystem::path& path);

/// Returns the columns of all rows in order of first appearance.
std::vector<std::string> results_columns(const Results& results);

/// Formats results as CSV: one header line and one line per row, RFC 4180 with '
/// '; an absent value is an empty cell. Numbers have enough digits to parse back to the same
/// double.
std::string results_to_csv(const Results& results);

/// Returns `value` with NaN and infinities replaced by their strings.
Json results_value(const Json& value);

/// Returns the number in `row` under `key`, including "nan", "inf" and "-inf".
/// @throws FormatError  if it is absent or not a number.
double results_number(const Json& row, const std::string& key);

}  // namespace lime

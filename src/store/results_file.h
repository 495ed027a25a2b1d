// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"

namespace lime {

/// One file that results were computed from.
struct ResultsInput {
  std::string path;
  std::string sha256;
  std::string label;
  std::string text_sha256 = {};  ///< of the text that a capture was made of; empty: not known
};

/// A table of numbers with where they came from, as it lies on disk: schema "lime-results/1",
/// JSON that pandas and jq read (docs/results_format.md).
struct Results {
  std::string metric;  ///< "entropy", "separability", ...
  std::vector<ResultsInput> inputs;
  Json options = Json::object();     ///< options_to_json() of the metric
  Json provenance = Json::object();  ///< tool, command, created_utc, ...
  std::vector<Json> rows;            ///< flat objects: numbers, text, true/false or null
};

/// Writes `results` whole or not at all. NaN and infinities become the texts "nan", "inf", "-inf".
/// @throws InvalidArgument  if a row is not a flat object.
/// @throws IoError
void write_results(const std::filesystem::path& path, const Results& results);
std::string results_to_json(const Results& results);

/// @throws IoError
/// @throws FormatError  if it is not JSON, of another schema, or breaks the format; names the key.
Results read_results(const std::filesystem::path& path);

/// Columns of all rows in the order in which they first appear.
std::vector<std::string> results_columns(const Results& results);

/// One header line and one line per row, RFC 4180 with '\n'; an absent value is an empty cell.
/// Numbers have as many digits as it takes to read back the same double.
std::string results_to_csv(const Results& results);

/// `value` with NaN and infinities replaced by the texts that stand for them in files.
Json results_value(const Json& value);

/// The number in `row` under `key`, "nan", "inf" and "-inf" included.
/// @throws FormatError  if there is none.
double results_number(const Json& row, const std::string& key);

}  // namespace lime

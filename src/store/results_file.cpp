// SPDX-License-Identifier: Apache-2.0
#include "store/results_file.h"

#include <fmt/format.h>

#include <array>
#include <unordered_set>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/utf8.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

constexpr std::string_view kFamily = "lime-results/";
constexpr std::string_view kSchema = "lime-results/3";
/// Schema 1 stored lists as text, and both a row per element of a matrix.
constexpr std::array<std::string_view, 2> kEarlierSchemas = {"lime-results/1", "lime-results/2"};

/// Returns a member of type `type`, which `what` names in errors.
const Json& member(const Json& object, const std::string& key, Json::value_t type,
                   std::string_view what, std::string_view where) {
  const auto found = object.find(key);
  if (found != object.end() && found->type() == type) return *found;
  throw FormatError("{}: '{}' must be {}", where, key, what);
}

std::string text_member(const Json& object, const std::string& key, std::string_view where) {
  return member(object, key, Json::value_t::string, "a string", where);
}

void check_schema(const Json& document, std::string_view where) {
  const bool has_schema = document.is_object() && document.contains("schema") &&
                          document["schema"].is_string() &&
                          document["schema"].get<std::string>().starts_with(kFamily);
  throw_if<FormatError>(!has_schema, "{}: is not a results file (no schema 'lime-results/...')",
                        where);
  const auto schema = document["schema"].get<std::string>();
  throw_if<FormatError>(
      schema != kSchema && std::ranges::find(kEarlierSchemas, schema) == kEarlierSchemas.end(),
      "{}: has schema version {}, this build reads 1 to 3; recompute it or update", where,
      schema.substr(kFamily.size()));
}

}  // namespace

std::string results_to_json(const Results& results) {
  Json document;
  document["schema"] = kSchema;
  document["metric"] = results.metric;
  document["inputs"] = Json::array();
  for (const ResultsInput& input : results.inputs) {
    Json entry = {{"path", input.path}, {"sha256", input.sha256}, {"label", input.label}};
    if (!input.text_sha256.empty()) entry["text_sha256"] = input.text_sha256;
    document["inputs"].push_back(std::move(entry));
  }
  document["options"] = results_value(results.options);
  document["provenance"] = results_value(results.provenance);
  // One row per line, which is readable and diffs well.
  std::string text = dump_json(document, 1);
  text.resize(text.size() - 2);
  text += ",\n \"rows\": [";
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    text += i == 0 ? "\n  " : ",\n  ";
    text += json_text(results.rows[i]);
  }
  return text + "\n ]\n}\n";
}

void write_results(const std::filesystem::path& path, const Results& results) {
  write_file_atomically(path, results_to_json(results));
}

Results read_results(const std::filesystem::path& path) {
  const std::string where = "results: '" + path.string() + "'";
  const Json document = read_json_file(path);
  check_schema(document, where);
  Results results;
  results.metric = text_member(document, "metric", where);
  for (const Json& input : member(document, "inputs", Json::value_t::array, "a list", where)) {
    results.inputs.push_back({text_member(input, "path", where + ": inputs"),
                              text_member(input, "sha256", where + ": inputs"),
                              text_member(input, "label", where + ": inputs"),
                              input.contains("text_sha256")
                                  ? text_member(input, "text_sha256", where + ": inputs")
                                  : ""});
  }
  results.options = member(document, "options", Json::value_t::object, "an object", where);
  results.provenance = member(document, "provenance", Json::value_t::object, "an object", where);
  for (const Json& row : member(document, "rows", Json::value_t::array, "a list", where)) {
    results.rows.push_back(
        row_from_json(row, fmt::format("{}: rows[{}]", where, results.rows.size())));
  }
  if (document.at("schema") != kSchema) {
    results.rows = with_matrices(std::move(results.rows), results.metric);
  }
  return results;
}

std::vector<std::string> results_columns(const Results& results) {
  std::vector<std::string> columns;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) columns.push_back(name);
  };
  for (const ResultRow& row : results.rows) {
    for (const auto& [name, value] : row.cells()) {
      if (const NumberArray* const array = value.array()) std::ranges::for_each(array->axes, add);
      add(name);
    }
  }
  return columns;
}

std::string results_to_csv(const Results& results) {
  const std::vector<std::string> columns = results_columns(results);
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + csv_cell(columns[i]);
  }
  text += '\n';
  for_each_line(results.rows, [&](const ResultRow& line) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += (i == 0 ? "" : ",") + csv_cell(line.shown({columns[i]}));
    }
    text += '\n';
  });
  return text;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "store/results_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/csv.h"

namespace lime {
namespace {

constexpr std::string_view kFamily = "lime-results/";
constexpr std::string_view kSchema = "lime-results/1";

void check_row(const Json& row, std::size_t index, std::string_view where) {
  if (!row.is_object()) throw FormatError("{}: rows[{}] must be an object", where, index);
  for (const auto& [key, value] : row.items()) {
    if (value.is_structured()) {
      throw FormatError("{}: rows[{}].{} must be a number, string, true, false or null", where,
                        index, key);
    }
  }
}

std::string text_member(const Json& object, const std::string& key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    throw FormatError("{}: '{}' must be a string", where, key);
  }
  return found->get<std::string>();
}

const Json& object_member(const Json& object, const std::string& key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) {
    throw FormatError("{}: '{}' must be an object", where, key);
  }
  return *found;
}

const Json& array_member(const Json& object, const std::string& key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) {
    throw FormatError("{}: '{}' must be a list", where, key);
  }
  return *found;
}

void check_schema(const Json& document, std::string_view where) {
  const bool has_schema = document.is_object() && document.contains("schema") &&
                          document["schema"].is_string() &&
                          document["schema"].get<std::string>().starts_with(kFamily);
  if (!has_schema) {
    throw FormatError("{}: is not a results file (no schema 'lime-results/...')", where);
  }
  const auto schema = document["schema"].get<std::string>();
  if (schema != kSchema) {
    throw FormatError("{}: has schema version {}, this build reads 1; recompute it or update",
                      where, schema.substr(kFamily.size()));
  }
}

std::string csv_value(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value.get_ref<const std::string&>()) : value.dump();
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
  const auto dump = [](const Json& value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
  };
  std::string text = dump(document, 1);
  text.resize(text.size() - 2);
  text += ",\n \"rows\": [";
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    text += i == 0 ? "\n  " : ",\n  ";
    text += dump(results_value(results.rows[i]), -1);
  }
  return text + "\n ]\n}\n";
}

void write_results(const std::filesystem::path& path, const Results& results) {
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    try {
      check_row(results.rows[i], i, "results");
    } catch (const FormatError& error) {
      throw InvalidArgument("{}", error.what());
    }
  }
  write_file_atomically(path, results_to_json(results));
}

Results read_results(const std::filesystem::path& path) {
  const std::string where = "results: '" + path.string() + "'";
  const Json document = read_json_file(path);
  check_schema(document, where);
  Results results;
  results.metric = text_member(document, "metric", where);
  for (const Json& input : array_member(document, "inputs", where)) {
    results.inputs.push_back({text_member(input, "path", where + ": inputs"),
                              text_member(input, "sha256", where + ": inputs"),
                              text_member(input, "label", where + ": inputs"),
                              input.contains("text_sha256")
                                  ? text_member(input, "text_sha256", where + ": inputs")
                                  : ""});
  }
  results.options = object_member(document, "options", where);
  results.provenance = object_member(document, "provenance", where);
  for (const Json& row : array_member(document, "rows", where)) {
    check_row(row, results.rows.size(), where);
    results.rows.push_back(row);
  }
  return results;
}

std::vector<std::string> results_columns(const Results& results) {
  std::vector<std::string> columns;
  std::unordered_set<std::string> seen;
  for (const Json& row : results.rows) {
    for (const auto& item : row.items()) {
      if (seen.insert(item.key()).second) columns.push_back(item.key());
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
  for (const Json& row : results.rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      const auto cell = row.find(columns[i]);
      if (cell != row.end()) text += csv_value(results_value(*cell));
    }
    text += '\n';
  }
  return text;
}

Json results_value(const Json& value) {
  // JSON has neither NaN nor infinities, and null would be indistinguishable from an absent value.
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return fmt::format("{}", value.get<double>());
  }
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json& item : copy) item = results_value(item);
  return copy;
}

double results_number(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end()) throw FormatError("results: a row has no '{}'", key);
  if (found->is_number()) return found->get<double>();
  if (*found == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (*found == "inf") return std::numeric_limits<double>::infinity();
  if (*found == "-inf") return -std::numeric_limits<double>::infinity();
  throw FormatError("results: '{}' must be a number, got {}", key, found->dump());
}

}  // namespace lime

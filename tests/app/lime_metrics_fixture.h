// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analysis/write_capture.h"
#include "core/json.h"
#include "store/hdf5/hdf5_file.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"
#include "support/test_data.h"

namespace lime::testing {

/// Returns two models on the same seven sequences; the second one's rows have a common component
/// in layer 1.
inline std::pair<SmallCapture, SmallCapture> two_models() {
  SmallCapture first;
  first.lengths.assign(7, 6);
  for (const int layer : {0, 1}) {
    first.activations.push_back(
        {"hidden", layer, random_matrix(42, 5, static_cast<std::uint64_t>(layer))});
  }
  SmallCapture second = first;
  MatrixF& rows = second.activations[1].rows;
  rows.col(0).array() += 3.0F;
  rows.col(1) *= 4.0F;
  return {first, second};
}

/// Runs lime-metrics in a temporary folder.
class LimeMetricsTest : public ::testing::Test {
 protected:
  /// Runs lime-metrics in the folder of this test, with a fixed locale and terminal width.
  ProgramRun run(const std::string& arguments, const std::string& prefix = "") const {
    return run_command("cd '" + folder_.path().string() + "' && LC_ALL=C.UTF-8 COLUMNS=100 " +
                       prefix + " " LIME_METRICS " " + arguments);
  }

  /// Returns the lines of the table that a command computes, with a row per element of a matrix.
  Json rows(const std::string& arguments) const {
    const ProgramRun result = run(arguments + " --format json");
    EXPECT_EQ(result.status, 0) << result.errors;
    Json lines = Json::array();
    const Json document = parse_json(result.output, "output");
    for (const Json& row : document.at("rows")) {
      for_each_line({{row_from_json(row, "row")}},
                    [&](const ResultRow& line) { lines.push_back(row_to_json(line)); });
    }
    return lines;
  }

  /// Returns a readable message with the first rows that differ between two results; or nothing.
  static std::string difference(const Json& a, const Json& b) {
    if (a.size() != b.size()) return std::to_string(a.size()) + ", " + std::to_string(b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) return a[i].dump() + "\n" + b[i].dump();
    }
    return "";
  }

  /// Returns the one-line error of a failed run, which must leave no files.
  std::string refusal(const std::string& arguments, int status) const {
    const std::size_t files = count_files();
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.status, status) << arguments;
    EXPECT_THAT(result.output, ::testing::IsEmpty()) << arguments;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_EQ(count_files(), files) << arguments;
    return result.errors;
  }

  /// Returns the rows with these cells.
  static std::vector<Json> rows_with(const Json& rows, const Json& cells) {
    std::vector<Json> found;
    for (const Json& row : rows) {
      bool matches = true;
      for (const auto& [key, value] : cells.items()) {
        matches = matches && row.contains(key) && row.at(key) == value;
      }
      if (matches) found.push_back(row);
    }
    return found;
  }
  /// Returns the only one.
  static Json row_with(const Json& rows, const Json& cells) {
    const std::vector<Json> found = rows_with(rows, cells);
    EXPECT_EQ(found.size(), 1U) << cells.dump();
    return found.empty() ? Json() : found.front();
  }
  static double mean_of_router(const Json& rows, int layer, const std::string& router,
                               const std::string& quantity) {
    return row_with(rows, {{"layer", layer}, {"router", router}, {"quantity", quantity}})
        .at("mean")
        .get<double>();
  }

  std::size_t count_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::recursive_directory_iterator(folder_.path()),
                      std::filesystem::recursive_directory_iterator()));
  }

  void write_golden_captures() const {
    const Hdf5File golden(golden_file("analysis/entropy_capture.h5"));
    const std::vector<std::int64_t> offsets = golden.read<std::int64_t>("offsets");
    for (const std::string label : {"first", "second"}) {
      SmallCapture capture;
      for (std::size_t i = 1; i < offsets.size(); ++i) {
        capture.lengths.push_back(offsets[i] - offsets[i - 1]);
      }
      for (const std::string site : {"values", "hidden"}) {
        for (const int layer : {0, 1, 2}) {
          const std::string name = fmt::format("{}/{}/{}", label, site, layer);
          capture.activations.push_back({site, layer, golden.read_matrix(name)});
        }
      }
      write_capture(folder_ / (label + ".h5"), capture);
    }
  }

  TemporaryFolder folder_;
};

}  // namespace lime::testing

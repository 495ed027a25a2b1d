// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/series/series_analysis.h"
#include "store/results/result_row.h"
#include "store/results_file.h"

namespace lime {

struct ModelStep {
  std::string model;
  std::int64_t step = 0;

  auto operator<=>(const ModelStep&) const = default;
};

/// Splits a name at "step" or "checkpoint" with a number: "llama-step-1000" and "llama_step1000"
/// are step 1000 of "llama". No value without one.
std::optional<ModelStep> split_step(const std::string& name);

struct SeriesInputs {
  std::map<ModelStep, std::filesystem::path> captures;
  std::vector<ResultRow> rows;  ///< of results
  std::map<std::string, std::set<std::int64_t>> steps;
  std::map<std::string, ResultsInput> texts;  ///< of the first result of each model
};

/// Adds a row of the series per measurement in `measured`, a row of `metric`.
void add_series_rows(const ModelStep& place, const std::string& metric, const ResultRow& measured,
                     std::vector<ResultRow>& rows);

/// Reads the results and finds the captures of each model and step. @throws as prepare_series()
SeriesInputs read_inputs(const SeriesOptions& options);

}  // namespace lime

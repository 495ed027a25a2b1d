// SPDX-License-Identifier: Apache-2.0
#include "analysis/series/series_inputs.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "analysis/engine/stored_results.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::string name_of(const SeriesOptions& options, std::size_t at) {
  std::string name = default_labels(options.inputs)[at];
  for (const char* const extension : {".json", ".h5"}) {
    if (name.ends_with(extension)) name.erase(name.rfind('.'));
  }
  return name;
}

/// Returns model and step of input `at`, or of the rows with `label` in it.
ModelStep place_of(const SeriesOptions& options, std::size_t at, const std::string& label = "") {
  std::optional<ModelStep> place = split_step(label);
  if (!place) {
    place = split_step(name_of(options, at));
    if (place && !label.empty()) place->model = label;
  }
  if (!place && options.steps.empty()) {
    throw InvalidArgument(
        OptionName("inputs"),
        "'{}' names no training step; call it e.g. model-step-1000, or add --steps with "
        "the step of each input",
        printable(label.empty() ? options.inputs[at].string() : label));
  }
  if (!place) place.emplace();
  if (!options.steps.empty()) place->step = options.steps[at];
  if (!options.model.empty()) place->model = options.model[at];
  if (place->model.empty()) place->model = "model";
  return *place;
}

void read_rows(const SeriesOptions& options, std::size_t at, SeriesInputs& inputs) {
  const fs::path& path = options.inputs[at];
  const Results results = read_results(path);
  const std::vector<std::string> labels = distinct(results.rows, col::kLabel);
  throw_if(labels.size() > 1 && !options.steps.empty(), OptionName("steps"),
           "'{}' contains {} captures; omit --steps and name their steps in the labels",
           path.string(), labels.size());
  for (const std::string& label : labels) {
    const ModelStep place = place_of(options, at, label);
    inputs.steps[place.model].insert(place.step);
    for (const ResultsInput& input : results.inputs) {
      if (input.label != label || input.text_sha256.empty()) continue;
      const ResultsInput& first = inputs.texts.try_emplace(place.model, input).first->second;
      if (first.text_sha256 == input.text_sha256) continue;
      throw InvalidArgument(
          OptionName("inputs"),
          "the steps of '{}' must be of one text, '{}' and '{}' differ; capture all steps "
          "with the same text",
          place.model, first.path, input.path);
    }
    for (const ResultRow* row : rows_with(results.rows, {{col::kLabel, label}})) {
      add_series_rows(place, results.metric, *row, inputs.rows);
    }
  }
}

}  // namespace

void add_series_rows(const ModelStep& place, const std::string& metric, const ResultRow& measured,
                     std::vector<ResultRow>& rows) {
  for (const StoredValue& measurement : stored_values_of(measured, metric)) {
    ResultRow& row = rows.emplace_back(
        ResultRow{{col::kLabel, place.model}, {col::kStep, place.step}, {col::kQuantity, metric}});
    for (const TextColumn& column : {col::kSite, col::kReference}) {
      if (measured.has(column)) row.set(column, measured.text(column));
    }
    if (measured.has(col::kLayer)) row.set(col::kLayer, measured.integer(col::kLayer));
    row.set(col::kMeasure, measurement.name).set(col::kMean, measurement.value);
    if (!std::isnan(measurement.low))
      row.set(col::kCiLow, measurement.low).set(col::kCiHigh, measurement.high);
    if (measured.has(col::kN)) row.set(col::kN, measured.integer(col::kN));
  }
}

SeriesInputs read_inputs(const SeriesOptions& options) {
  SeriesInputs inputs;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const fs::path& path = options.inputs[i];
    if (path.extension() == ".json") {
      read_rows(options, i, inputs);
      continue;
    }
    throw_if(fs::is_directory(path), OptionName("inputs"),
             "'{}' is a folder; capture the checkpoint with lime-capture, and give the "
             "captures or results",
             path.string());
    const ModelStep place = place_of(options, i);
    inputs.steps[place.model].insert(place.step);
    const auto [other, is_new] = inputs.captures.try_emplace(place, path);
    if (is_new) continue;
    throw InvalidArgument(
        OptionName("inputs"),
        "'{}' and '{}' are both step {} of '{}'; give each step once, or name the models "
        "with --model",
        other->second.string(), path.string(), place.step, printable(place.model));
  }
  for (const auto& [model, steps] : inputs.steps) {
    if (steps.size() > 1) continue;
    throw InvalidArgument(
        OptionName("inputs"),
        "'{}' has one step, {}; a series requires at least two (--model names the model of "
        "each input)",
        model, *steps.begin());
  }
  return inputs;
}

std::optional<ModelStep> split_step(const std::string& name) {
  constexpr std::string_view kSeparators = "-_. ,=/";
  for (const std::string_view word : {"global_step", "step", "checkpoint"}) {
    const std::size_t at = name.rfind(word);
    if (at == std::string::npos) continue;
    std::size_t begin = at + word.size();
    if (begin < name.size() && kSeparators.find(name[begin]) != std::string_view::npos) ++begin;
    ModelStep found;
    const auto [end, error] =
        std::from_chars(name.data() + begin, name.data() + name.size(), found.step);
    if (error != std::errc() || found.step < 0) continue;
    found.model = name.substr(0, at) + std::string(end, name.data() + name.size());
    found.model.erase(0, found.model.find_first_not_of(kSeparators));
    found.model.erase(found.model.find_last_not_of(kSeparators) + 1);
    return found;
  }
  return std::nullopt;
}

}  // namespace lime

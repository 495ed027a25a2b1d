// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "analysis/engine/comparison.h"
#include "analysis/engine/inputs.h"
#include "analysis/engine/unit.h"
#include "analysis/report/report.h"
#include "core/json.h"
#include "core/options.h"

namespace lime {

/// What an analysis measured, as data: the explorer draws it, and report_of() prints it.
struct AnalysisResult {
  Results results;                        ///< the rows of the units, and their provenance
  std::vector<ResultRow> comparisons;     ///< of --compare, --summary and --runs
  std::vector<UnitResult> units;          ///< the samples and matrices behind the rows, in order
  std::vector<std::string> remarks = {};  ///< on inputs that cannot be compared

  /// Returns the results with the rows of the comparisons, as files have them.
  Results table() const {
    Results all = results;
    for (const std::string& remark : remarks) all.provenance["remark"] = remark;
    all.rows.insert(all.rows.end(), comparisons.begin(), comparisons.end());
    return all;
  }
};

/// A measurement that is ready to run with run_analysis(). The prepare function of a metric makes
/// it of its options and throws InvalidArgument for what cannot work, and IoError and FormatError
/// as CaptureReader. docs/architecture.md has a recipe.
struct Analysis {
  std::string metric;             ///< name of the command: "entropy"
  Json options = Json::object();  ///< stored_options() of all that decides the numbers
  std::vector<AnalysisInput> inputs;
  std::vector<ResultsInput> hashed_inputs = {};  ///< hash_inputs() of them, if that was done before
  std::vector<Unit> units;
  UnitThreads threads = UnitThreads::kAcross;
  std::string device = {};                 ///< for the provenance; empty: the CPU
  CompareOptions compare;                  ///< comparisons of the units' samples
  std::vector<std::string> warnings = {};  ///< about the inputs, for the user
  std::vector<std::string> notes = {};     ///< below the tables: what is omitted, or should be
  /// Why the units will have no samples, and the remedy; empty if they may have some.
  std::string lacks_items = {};
  /// Further whole rows, computed of all units together. May be empty. @param units  in their order
  std::function<std::vector<ResultRow>(std::span<const UnitResult> units)> more_rows = nullptr;
  /// Adds to a report, which has the results, what people need to read them; empty: the table of
  /// TableLayout as it stands. Matrices are found in the units.
  std::function<void(Report& report, std::span<const UnitResult> units)> present = nullptr;
};

/// Everything that `options` describe, the positional arguments included, as results store it.
template <DescribedOptions T> Json stored_options(T options) {
  OptionList list;
  options.describe_inputs(list);
  options.describe(list);
  Json object = Json::object();
  for (const OptionField& field : list.fields()) {
    if (field.role != OptionRole::kOutput) object[field.name] = field.value();
  }
  return object;
}

/// Returns what the options omit of the captures, and whether a few rows dominate a layer.
std::vector<std::string> notes_on_rows(std::span<const ChosenCapture> captures);

/// Returns the analysis of some captures, or of other inputs; the caller sets units and report.
template <DescribedOptions T>
Analysis analysis_of(std::string metric, const T& options,
                     std::span<const ChosenCapture> captures = {}) {
  Analysis analysis;
  analysis.metric = std::move(metric);
  analysis.options = stored_options(options);
  analysis.inputs = capture_inputs(captures);
  analysis.notes = notes_on_rows(captures);
  return analysis;
}

}  // namespace lime

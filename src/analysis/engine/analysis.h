// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "analysis/engine/comparison.h"
#include "analysis/engine/inputs.h"
#include "analysis/engine/samples.h"
#include "analysis/report/results_output.h"
#include "core/json.h"
#include "core/matrix.h"
#include "core/program/progress.h"
#include "core/threads/thread_pool.h"

namespace lime {

/// A matrix that belongs to a result but does not fit into its rows, e.g. an embedding.
struct NamedMatrix {
  std::string name;
  MatrixD values;
};

/// Result of one unit.
struct UnitResult {
  /// The metric's own columns. The unit's key is put in front of each.
  std::vector<ResultRow> rows;
  std::vector<Samples> samples;
  std::vector<NamedMatrix> matrices;
};

/// Execution context of a unit.
struct UnitContext {
  ThreadPool& pool;        ///< the unit's own; results must not depend on its number of threads
  ProgressFn on_progress;  ///< counts up to the unit's `work`
  std::stop_token stop;    ///< if requested, the unit throws Interrupted; it is run again later
};

/// A piece of an analysis that is computed on its own: most often one layer of one site of one
/// capture. It must depend on nothing but the inputs and options, and on no other unit.
struct Unit {
  /// Key of the unit, e.g. {"label": "LIMe", "site": "values", "layer": 3}; the first columns of
  /// its rows. No two units have the same.
  ResultRow key = {};
  std::string where;  ///< names it in errors: "'lime.h5': site 'values', layer 3"
  /// Identity of the items of its samples, see Samples::identity. If it is known in advance,
  /// captures that cannot be compared are refused before the computation.
  std::string identity = {};
  std::int64_t work = 1;  ///< items that the progress counts, >= 1
  /// Peak memory in bytes, plus bytes_per_thread for each thread of its pool.
  std::int64_t bytes = 0;
  std::int64_t bytes_per_thread = 0;
  std::function<UnitResult(const UnitContext&)> measure;
};

/// Selects whether units run in parallel, one thread each, or in sequence with all threads inside.
enum class UnitThreads { kAcross, kInside };

/// A measurement that is ready to run: what a metric's prepare function makes of its options, after
/// it has refused what cannot work. run_analysis() runs it. docs/architecture.md has a recipe.
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
  /// Why the units will have no samples, and the remedy; empty if they may have some.
  std::string lacks_items = {};
  /// Further rows, computed of all units together (means over tasks, differences of models); whole
  /// rows, with label, site and layer. May be empty. @param units  in the order of `units`
  std::function<std::vector<ResultRow>(std::span<const UnitResult> units)> more_rows = nullptr;
  /// Adds to a report, which has the results, what people need to read them; empty: the table of
  /// TableLayout as it stands. Matrices are found in the units.
  std::function<void(Report& report, std::span<const UnitResult> units)> present = nullptr;
};

/// Returns the unit of one layer of one site of a capture with key and where; the caller sets the
/// rest.
Unit layer_unit(const ChosenCapture& capture, const std::string& site, int layer);

/// Returns the identity of the first `count` sequences of a capture: a hash of their tokens, so
/// that two captures of the same text have the same.
std::string sequences_identity(const CaptureReader& capture, std::int64_t count);

/// Everything that `options` describe, the positional arguments included, as a result stores it and
/// `lime-metrics rerun` reads it back.
template <DescribedOptions T>
Json stored_options(T options) {
  OptionList list;
  options.describe_inputs(list);
  options.describe(list);
  Json object = Json::object();
  for (const OptionField& field : list.fields()) {
    if (!field.is_output) object[field.name] = field.value();
  }
  return object;
}

}  // namespace lime

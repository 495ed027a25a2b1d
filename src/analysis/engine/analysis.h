// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/capture_set.h"
#include "analysis/engine/comparison.h"
#include "analysis/engine/inputs.h"
#include "analysis/report/report.h"
#include "core/json.h"
#include "core/matrix.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"
#include "metrics/summary.h"
#include "store/results/columns.h"

namespace lime {

struct RunOptions {
  int threads = 0;
  std::uint64_t seed = 0;
  std::optional<ByteSize> memory_limit = std::nullopt;

  int num_threads() const { return threads > 0 ? threads : available_threads(); }

  void describe(OptionList& list) {
    list.group("Running");
    list.add("threads", threads, "number of threads, up to 1024; 0: all CPUs");
    list.add("memory_limit", memory_limit, "memory limit, e.g. 2GB; default: the free memory");
    list.add("seed", seed, "seed of all random numbers");
  }
  void validate() const { check_threads(threads); }
};

/// A matrix that belongs to a result but does not fit into its rows, e.g. an embedding.
struct NamedMatrix {
  std::string name;
  MatrixD values;
};

struct UnitResult {
  /// The metric's own columns. The unit's key is put in front of each.
  std::vector<ResultRow> rows;
  std::vector<Samples> samples;
  std::vector<NamedMatrix> matrices;
};

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

struct UnitContext {
  ThreadPool& pool;        ///< the unit's own; results must not depend on its number of threads
  ProgressFn on_progress;  ///< counts up to the unit's `work`
  std::stop_token stop;    ///< if requested, the unit throws Interrupted; it is run again later

  void report(std::int64_t done, std::int64_t total) const {
    if (on_progress) on_progress({done, total, ""});
  }
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

/// A layer of one site of one of several captures.
struct LayerPlace {
  std::size_t capture = 0;  ///< index
  std::string site = {};
  int layer = 0;
};

/// Returns the unit of one layer of one site of a capture, with key and where only.
Unit layer_unit(const ChosenCapture& capture, const std::string& site, int layer);

/// Returns such a unit of every layer of every capture. @param complete  sets the rest.
std::vector<Unit> layer_units(std::span<const ChosenCapture> captures,
                              const std::function<void(Unit&, const LayerPlace&)>& complete);

/// Returns kAcross if there are enough units for all threads.
UnitThreads threads_for(std::span<const Unit> units, const RunOptions& run);

/// Everything that `options` describe, the positional arguments included, as results store it.
template <DescribedOptions T> Json stored_options(T options) {
  OptionList list;
  options.describe_inputs(list);
  options.describe(list);
  Json object = Json::object();
  for (const OptionField& field : list.fields()) {
    if (!field.is_output) object[field.name] = field.value();
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

/// Returns ", [95% bootstrap interval of the mean]" for a legend; empty without intervals.
std::string interval_legend(const SummaryOptions& options);

/// Checks the number of blocks of the option `jackknife`. @throws InvalidArgument
void check_jackknife(std::int64_t blocks);

/// Returns jackknife(); empty if there are no blocks, or if a value is undefined (not finite).
std::optional<Jackknife> jackknife_of_defined(double all, const std::vector<double>& without,
                                              double confidence);

void set_summary(ResultRow& row, const Summary& summary);

/// Summarises many rows at once with summarize_together(). While rows are made, each registers its
/// sample and gets its columns, empty; fill() computes them.
class RowSummaries {
 public:
  explicit RowSummaries(const SummaryOptions& options) : options_(options) {}

  /// Adds mean, std, ci_low, ci_high and n to `row`, which will be rows[place] of fill().
  void add_mean(ResultRow& row, std::size_t place, std::vector<double> values);
  /// Adds difference, difference_low and difference_high of the paired values minus `reference`.
  void add_difference(ResultRow& row, std::size_t place, const std::vector<double>& values,
                      const std::vector<double>& reference);
  void fill(std::vector<ResultRow>& rows) const;

 private:
  struct Entry {
    std::size_t place = 0;
    bool is_difference = false;
    std::vector<double> values;
  };

  SummaryOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace lime

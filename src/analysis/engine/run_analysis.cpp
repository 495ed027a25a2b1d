// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/run_analysis.h"

#include <iterator>
#include <set>

#include "analysis/engine/comparison_report.h"
#include "analysis/engine/unit_runner.h"
#include "core/program/program.h"
#include "core/utf8.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

/// Returns the facts that determine the rows of a run.
Json identity_of(const Results& results, const Json& tool) {
  Json identity = Json::object();
  identity["metric"] = results.metric;
  identity["tool"] = tool;
  identity["options"] = results_value(results.options);
  identity["inputs"] = Json::object();
  for (const ResultsInput& input : results.inputs) identity["inputs"][input.label] = input.sha256;
  return identity;
}

/// Returns the facts in which an interrupted run and the resumed one must agree.
Json journal_header(const Analysis& analysis, const Results& results) {
  Json header = Json::object();
  header["journal"] = kJournalSchema;
  header.update(identity_of(results, tool_version()));
  header["units"] = Json::array();
  for (const Unit& unit : analysis.units) header["units"].push_back(row_to_json(unit.key));
  return header;
}

/// Returns the identities of the inputs by label, unchanged when a damaged input is restored.
Json identities_of(const std::vector<AnalysisInput>& inputs) {
  Json identities = Json::object();
  for (const AnalysisInput& input : inputs) {
    if (!input.identity.empty()) identities[input.label] = input.identity;
  }
  return identities;
}

/// The results without rows, provenance and inputs.
Results begin_results(const Analysis& analysis, const RunOptions& run) {
  Results results;
  results.metric = analysis.metric;
  results.options = analysis.options;
  results.options.update(options_to_json(analysis.compare));
  results.options["seed"] = run.seed;
  return results;
}

/// Units by number; without a value where nobody has finished them yet.
using MeasuredUnits = std::vector<std::optional<UnitResult>>;

/// Puts what is `finished` into its place.
void take_over(const Analysis& analysis, FinishedUnits finished, MeasuredUnits& units) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto found = finished.find(analysis.units[i].key);
    if (found != finished.end()) units[i] = std::move(found->second);
  }
}

std::string_view way_to_go_on(const Journal& journal) {
  return journal.share().is_whole() ? "--resume" : "the same command";
}

/// Computes the units of this process that nobody has finished.
void measure_units(const Analysis& analysis, const RunOptions& run, Journal& journal,
                   MeasuredUnits& units, const ProgressFn& on_progress,
                   const std::stop_token& stop) {
  std::vector<const Unit*> left;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i] || !journal.share().holds(i)) continue;
    left.push_back(&analysis.units[i]);
    places.push_back(i);
  }
  const UnitPlan plan = plan_units(left, analysis.threads, run.num_threads(), run.memory_limit);
  const auto keep = [&](std::size_t index, UnitResult result) {
    journal.add(left[index]->key, result);
    units[places[index]] = std::move(result);
  };
  try {
    run_units(left, plan, keep, on_progress, stop);
  } catch (const IoError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const FormatError& error) {
    if (!journal.note_damage()) throw;
    throw FormatError("{}; finished work is stored in '{}', then resume with {}", error.what(),
                      journal.path().string(), way_to_go_on(journal));
  } catch (const Error&) {
    journal.remove();  // it would come again, and other options cannot go on from here
    throw;
  }
}

/// All units, if those of the other processes are finished too.
std::optional<std::vector<UnitResult>> all_units(MeasuredUnits units) {
  std::vector<UnitResult> all;
  for (std::optional<UnitResult>& unit : units) {
    if (!unit) return std::nullopt;
    all.push_back(std::move(*unit));
  }
  return all;
}

std::vector<ResultRow> rows_of(const Analysis& analysis, const std::vector<UnitResult>& results) {
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const ResultRow& own : results[i].rows) rows.emplace_back(analysis.units[i].key).add(own);
  }
  if (analysis.more_rows) std::ranges::move(analysis.more_rows(results), std::back_inserter(rows));
  return rows;
}

/// Refuses before the work what could not be compared after it.
void check_comparison(const Analysis& analysis) {
  const CompareOptions& options = analysis.compare;
  const bool wants_items = options.compare != ComparePairs::kNone ||
                           options.summary != SummaryOver::kNone || !options.runs.empty();
  throw_if(wants_items && !analysis.lacks_items.empty(),
           OptionName(options.compare != ComparePairs::kNone ? "compare"
                      : options.runs.empty()                 ? "summary"
                                                             : "runs"),
           "{}", analysis.lacks_items);
  std::vector<ResultRow> keys;
  std::vector<std::string> identities;
  for (const Unit& unit : analysis.units) {
    keys.push_back(unit.key);
    identities.push_back(unit.identity);
  }
  check_comparable(keys, identities, analysis.compare);
}

/// Refuses before the work units that can never fit into memory.
void check_memory(const Analysis& analysis, const RunOptions& run) {
  peak_memory(analysis, run);  // throws
  if (!run.memory_limit) return;
  const std::int64_t held = resident_memory();
  const std::int64_t needed = comparison_bytes(analysis.compare, run.num_threads());
  if (needed <= run.memory_limit->bytes - held) return;
  throw InvalidArgument(
      OptionName("memory_limit"),
      "comparing with {} resamples on {} threads needs {}, more than {}; set "
      "--memory-limit to {}MiB or more, or use fewer --compare-resamples or --threads",
      analysis.compare.resamples, run.num_threads(), human_bytes(static_cast<double>(needed)),
      run.memory_limit->to_string(), ((needed + held) >> 20) + 4);
}

/// Returns the samples of all units with complete keys and identities.
std::vector<Samples> samples_of(const Analysis& analysis, const std::vector<UnitResult>& results) {
  std::vector<Samples> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const Samples& own : results[i].samples) {
      Samples& samples = all.emplace_back(own);
      samples.key = analysis.units[i].key;
      samples.key.add(own.key);
      if (own.identity.empty()) samples.identity = analysis.units[i].identity;
    }
  }
  return all;
}

/// Returns the name of the items of the results for messages.
std::string items_of(const std::vector<UnitResult>& results) {
  for (const UnitResult& result : results) {
    if (result.samples.empty()) continue;
    const std::string& items = result.samples.front().items;
    return items == "sequences" || items == "pairs" ? items : "rows";
  }
  return "sequences";
}

/// Says of captures side by side that they hold different items; empty where they do not.
std::string remark_on_items(const Analysis& analysis, const std::vector<UnitResult>& results) {
  const Unit* first = nullptr;
  std::set<std::string> seen;
  std::vector<std::string> others;
  for (const Unit& unit : analysis.units) {
    const std::string& label = unit.key.text(col::kLabel);
    if (unit.identity.empty() || !seen.insert(label).second) continue;
    if (first == nullptr) first = &unit;
    if (unit.identity != first->identity) others.push_back(printable("'" + label + "'"));
  }
  if (others.empty()) return "";
  return fmt::format(
      "captures contain different {}: {} not those of '{}'; differences are not due to the models "
      "alone, capture all with the same text to compare models",
      items_of(results), fmt::join(others, ", "), printable(first->key.text(col::kLabel)));
}

/// Tells that the inputs are being hashed, on the line that counts the work of the units.
ProgressFn hashing_progress(const Analysis& analysis, const ProgressFn& on_progress) {
  if (!on_progress) return {};
  std::int64_t work = 0;
  for (const Unit& unit : analysis.units) work += std::max<std::int64_t>(1, unit.work);
  return [work, on_progress](const Progress& hashed) {
    on_progress(
        {0, work,
         fmt::format("hashing the inputs, {} of {}", human_bytes(static_cast<double>(hashed.done)),
                     human_bytes(static_cast<double>(hashed.total)))});
  };
}

Interrupted interruption(const Journal& journal) {
  if (!journal.keeps()) {
    return Interrupted(
        "interrupted; finished work was discarded because there is no output file, add -o FILE to "
        "keep it");
  }
  std::error_code ignored;
  if (!std::filesystem::exists(journal.path(), ignored)) {
    return Interrupted("interrupted before anything was finished; run the command again");
  }
  return Interrupted("interrupted; finished work is stored in '{}', resume with {}",
                     journal.path().string(), way_to_go_on(journal));
}

}  // namespace

std::optional<AnalysisResult> compute_share(const Analysis& analysis, const RunOptions& run,
                                            Journal& journal, const ProgressFn& on_progress,
                                            const std::stop_token& stop) {
  run.validate();
  Results results = begin_results(analysis, run);
  check_comparison(analysis);
  check_memory(analysis, run);
  std::optional<std::vector<UnitResult>> units;
  std::vector<ResultRow> of_samples;
  try {
    Provenance provenance(run.num_threads());
    results.inputs = !analysis.hashed_inputs.empty()
                         ? analysis.hashed_inputs
                         : hash_inputs(analysis.inputs, run.num_threads(), stop,
                                       hashing_progress(analysis, on_progress));
    provenance.lap("hash_inputs");
    auto finished = journal.open(journal_header(analysis, results), identities_of(analysis.inputs));
    const std::size_t num_resumed = finished.size();
    MeasuredUnits measured(analysis.units.size());
    take_over(analysis, std::move(finished), measured);
    measure_units(analysis, run, journal, measured, on_progress, stop);
    if (!journal.share().is_whole()) take_over(analysis, journal.finished(), measured);
    units = all_units(std::move(measured));
    if (!units) return std::nullopt;
    provenance.lap("compute");
    results.rows = rows_of(analysis, *units);
    of_samples = sample_rows(samples_of(analysis, *units), analysis.compare, run.seed, run.threads);
    results.provenance = provenance.to_json();
    if (!analysis.device.empty()) results.provenance["device"] = analysis.device;
    if (num_resumed > 0) results.provenance["resumed_units"] = num_resumed;
    if (!journal.share().is_whole()) results.provenance["processes"] = journal.share().count;
  } catch (const Interrupted&) {
    throw interruption(journal);
  }
  AnalysisResult result{std::move(results), std::move(of_samples), std::move(*units)};
  if (std::string remark = remark_on_items(analysis, result.units); !remark.empty()) {
    result.remarks.push_back(std::move(remark));
  }
  return result;
}

AnalysisResult compute(const Analysis& analysis, const RunOptions& run,
                       const ProgressFn& on_progress, const std::stop_token& stop) {
  Journal none;
  return compute_share(analysis, run, none, on_progress, stop).value();
}

Report report_of(const Analysis& analysis, AnalysisResult result) {
  Report report;
  report.results = std::move(result.results);
  if (analysis.present) analysis.present(report, result.units);
  report.remarks.insert(report.remarks.end(), analysis.notes.begin(), analysis.notes.end());
  for (std::string& remark : result.remarks) {
    report.results.provenance["remark"] = remark;
    report.remarks.push_back(std::move(remark));
  }
  std::ranges::move(result.comparisons, std::back_inserter(report.results.rows));
  add_sample_sections(report, analysis.compare);
  return report;
}

std::int64_t peak_memory(const Analysis& analysis, const RunOptions& run) {
  std::vector<const Unit*> units;
  for (const Unit& unit : analysis.units) units.push_back(&unit);
  return peak_memory(units,
                     plan_units(units, analysis.threads, run.num_threads(), run.memory_limit));
}

Report run_analysis(const Analysis& analysis, const RunOptions& run, const ProgressFn& on_progress,
                    const std::stop_token& stop) {
  return report_of(analysis, compute(analysis, run, on_progress, stop));
}

std::string difference_to_result(const Results& finished, const Analysis& analysis,
                                 const RunOptions& run) {
  Results now = begin_results(analysis, run);
  now.inputs = analysis.hashed_inputs;
  // As it comes back from a file, where whole numbers have no width.
  const Json identity = parse_json(dump_json(identity_of(now, tool_version())), "identity");
  const auto difference =
      first_difference(identity_of(finished, finished.provenance.value("tool", Json())), identity,
                       KeyOrder::kCounts);
  return difference ? to_text(*difference) : "";
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/choices/choices_analysis.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/choices/scored_items.h"
#include "analysis/report/latex_printer.h"
#include "core/files/sha256.h"
#include "core/program/suggest.h"
#include "metrics/comparison/minimal_pairs.h"
#include "metrics/comparison/significance.h"
#include "metrics/quantiles.h"
#include "metrics/summary.h"
#include "store/results/difference_name.h"

namespace lime {
namespace {

std::vector<double> sums_of(const std::vector<double>& values,
                            const std::vector<std::size_t>& clusters) {
  if (clusters.empty()) return values;
  std::vector<double> sums(std::ranges::max(clusters) + 1, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[clusters[i]] += values[i];
  return sums;
}

/// Returns the standard error over clusters of items, that of the ratio of the clusters' sums to n,
///   sqrt(C / (C - 1) sum_c (sum_{i in c} (x_i - mean))^2) / n,
/// which is sqrt(variance / n) with ddof 1 if each item is a cluster.
double standard_error_of(const MeasuredValues& measure, double mean, ChoicesPreset preset) {
  const auto n = static_cast<double>(measure.values.size());
  if (preset == ChoicesPreset::kLimePaper && measure.is_accuracy) {
    // All runs count as independent items.
    const double pooled = n * static_cast<double>(measure.run_means.size()) - 1.0;
    return pooled > 0.0 ? std::sqrt(mean * (1.0 - mean) / pooled) : 0.0;
  }
  std::vector<double> deviations;
  for (const double value : measure.values) deviations.push_back(value - mean);
  double squares = 0.0;
  const std::vector<double> sums = sums_of(deviations, measure.clusters);
  for (const double sum : sums) squares += sum * sum;
  const auto count = static_cast<double>(sums.size());
  return count > 1 ? std::sqrt(squares * count / (count - 1.0)) / n : 0.0;
}

void set_interval(ResultRow& row, double mean, double error, double confidence) {
  const double z = normal_quantile(0.5 + confidence / 2.0);
  row.add({{col::kMean, mean},
           {col::kCiLow, mean - z * error},
           {col::kCiHigh, mean + z * error},
           {col::kStderr, error}});
}

/// Returns the row of a measure: mean, deviation, standard error and interval.
ResultRow row_of(const AnsweredTask& task, const MeasuredValues& measure,
                 const ChoicesOptions& options) {
  ResultRow row = {{col::kLevel, "task"},
                   {col::kName, task.name},
                   {col::kMeasure, measure.name},
                   {col::kPreset, enum_name(options.preset)}};
  const double mean = mean_of(measure.values);
  set_interval(row, mean, standard_error_of(measure, mean, options.preset), options.confidence);
  if (measure.is_accuracy && measure.clusters.empty() && measure.run_means.size() == 1) {
    std::vector<PairOutcome> outcomes;
    for (const double value : measure.values) {
      outcomes.push_back(value > 0.5 ? PairOutcome::kCorrect : PairOutcome::kIncorrect);
    }
    const PairAccuracy wilson = pair_accuracy(outcomes, TieRule::kCorrect, options.confidence);
    row.add({{col::kCiLow, wilson.ci_low}, {col::kCiHigh, wilson.ci_high}});
  }
  row.add({{col::kStd, summarize(measure.values, {.resamples = 0}).std},
           {col::kN, std::ssize(measure.values)},
           {col::kClusters, std::ssize(sums_of(measure.values, measure.clusters))},
           {col::kRuns, std::ssize(measure.run_means)}});
  if (measure.run_means.size() > 1) {
    const auto runs = static_cast<double>(measure.run_means.size());
    const double std = summarize(measure.run_means, {.resamples = 0}).std;
    row.set(col::kRunStd, std * std::sqrt(runs / (runs - 1.0)));
  }
  return row;
}

/// Returns one value per cluster whose mean is that over the items.
Samples samples_of(const MeasuredValues& measure) {
  Samples samples{.quantity = measure.name,
                  .items = measure.clusters.empty() ? "items" : "paragraphs",
                  .values = sums_of(measure.values, measure.clusters)};
  const double scale =
      static_cast<double>(samples.values.size()) / static_cast<double>(measure.values.size());
  for (double& value : samples.values) value *= scale;
  return samples;
}

UnitResult measure_task(const AnsweredTask& task, const ChoicesOptions& options) {
  UnitResult result;
  const std::vector<double> prior = gold_shares(task);
  for (const MeasuredValues& measure : measure_items(task)) {
    result.rows.push_back(row_of(task, measure, options));
    if (measure.name == "acc" && !prior.empty()) {
      result.rows.back().add({{col::kMajority, *std::ranges::max_element(prior)},
                              {col::kGoldShares, prior},
                              {col::kPredictionShares, prediction_shares(task)}});
    }
    if (measure.name == "acc_bytes" || measure.name == "brier") continue;
    result.samples.push_back(samples_of(measure));
  }
  const auto& layers = task.runs.front().front().layers;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const MeasuredValues& measure : measure_items(task, l)) {
      result.rows.push_back(row_of(task, measure, options).set(col::kLayer, layers[l].layer));
    }
  }
  return result;
}

/// Returns the means over all tasks, unweighted, and over the subjects of MMLU, weighted by items.
std::vector<ResultRow> group_rows(const std::vector<AnsweredTask>& tasks,
                                  std::span<const UnitResult> units,
                                  const ChoicesOptions& options) {
  std::vector<std::pair<ResultRow, std::vector<const ResultRow*>>> groups;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (const ResultRow& row : units[t].rows) {
      for (const std::string group : {"all", "mmlu"}) {
        if (group == "mmlu" && !tasks[t].name.starts_with("mmlu_")) continue;
        ResultRow key = {{col::kLabel, tasks[t].label},
                         {col::kLevel, group == "all" ? "all" : "group"},
                         {col::kName, group},
                         {col::kMeasure, row.text(col::kMeasure)},
                         {col::kPreset, row.text(col::kPreset)}};
        if (row.has(col::kLayer)) key.set(col::kLayer, row.integer(col::kLayer));
        auto same =
            std::ranges::find_if(groups, [&](const auto& known) { return known.first == key; });
        if (same == groups.end()) same = groups.insert(same, {key, {}});
        same->second.push_back(&row);
      }
    }
  }
  std::vector<ResultRow> rows;
  for (auto& [key, members] : groups) {
    if (members.size() < 2) continue;
    double weights = 0.0;
    double sum = 0.0;
    double variance = 0.0;
    for (const ResultRow* row : members) {
      const double weight = key.text(col::kName) == "mmlu" ? row->number(col::kN) : 1.0;
      weights += weight;
      sum += weight * row->number(col::kMean);
      variance += std::pow(weight * row->number(col::kStderr), 2.0);
    }
    set_interval(key, sum / weights, std::sqrt(variance) / weights, options.confidence);
    rows.push_back(key.set(col::kTasks, std::ssize(members)));
  }
  return rows;
}

/// For the logit lens and the probes of each task: the first layer whose accuracy is within one
/// standard error of that of the best layer.
std::vector<ResultRow> depth_rows(const std::vector<AnsweredTask>& tasks,
                                  std::span<const UnitResult> units) {
  std::vector<ResultRow> rows;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (const char* const measure : {"acc", "probe"}) {
      const ResultRow* best = nullptr;
      std::vector<const ResultRow*> layers;
      for (const ResultRow& row : units[t].rows) {
        if (!row.has(col::kLayer) || row.text(col::kMeasure) != measure) continue;
        layers.push_back(&row);
        if (best == nullptr || row.number(col::kMean) > best->number(col::kMean)) best = &row;
      }
      const auto first = std::ranges::find_if(layers, [&](const ResultRow* row) {
        return row->number(col::kMean) >= best->number(col::kMean) - best->number(col::kStderr);
      });
      if (first == layers.end()) continue;
      rows.push_back({{col::kKind, "depth"},
                      {col::kLabel, tasks[t].label},
                      {col::kName, tasks[t].name},
                      {col::kMeasure, measure},
                      {col::kLayer, (*first)->integer(col::kLayer)},
                      {col::kMean, (*first)->number(col::kMean)},
                      {col::kCeiling, best->number(col::kMean)}});
    }
  }
  return rows;
}

/// Returns the exact tests of each model against the first one per task; p_holm is over the tasks.
std::vector<ResultRow> mcnemar_rows(const std::vector<AnsweredTask>& tasks,
                                    const ChoicesOptions& options) {
  std::vector<ResultRow> rows;
  std::map<std::string, std::vector<std::size_t>> families;
  for (const AnsweredTask& task : tasks) {
    const auto baseline = std::ranges::find_if(tasks, [&](const AnsweredTask& other) {
      return other.label == tasks.front().label && other.name == task.name &&
             other.filter == task.filter;
    });
    if (task.label == tasks.front().label || baseline == tasks.end() || baseline->ids != task.ids) {
      continue;
    }
    const std::vector<MeasuredValues> first = measure_items(*baseline);
    for (const MeasuredValues& second : measure_items(task)) {
      const auto same = std::ranges::find(first, second.name, &MeasuredValues::name);
      const bool is_tested = same != first.end() && second.is_accuracy &&
                             same->run_means.size() == 1 && second.run_means.size() == 1;
      if (!is_tested) continue;
      std::int64_t only[2] = {0, 0};
      for (std::size_t i = 0; i < second.values.size(); ++i) {
        if (same->values[i] != second.values[i]) ++only[second.values[i] > 0.5 ? 1 : 0];
      }
      const auto n = static_cast<double>(second.values.size());
      families[task.label + "\n" + second.name].push_back(rows.size());
      rows.push_back({{col::kKind, "mcnemar"},
                      {col::kLabel, task.label},
                      {col::kBaseline, baseline->label},
                      {col::kName, task.name},
                      {col::kMeasure, second.name},
                      {col::kPreset, enum_name(options.preset)},
                      {col::kDifference, static_cast<double>(only[1] - only[0]) / n},
                      {col::kN, std::ssize(second.values)},
                      {col::kBaselineOnly, only[0]},
                      {col::kLabelOnly, only[1]},
                      {col::kP, mcnemar_exact(only[0], only[1])}});
    }
  }
  for (const auto& [name, members] : families) {
    std::vector<double> p_values;
    for (const std::size_t row : members) p_values.push_back(rows[row].number(col::kP));
    const std::vector<double> adjusted = holm_adjusted(p_values);
    for (std::size_t i = 0; i < members.size(); ++i) rows[members[i]].set(col::kPHolm, adjusted[i]);
  }
  return rows;
}

constexpr const char* kMeanName = "mean over tasks";
/// A note reports models that select one choice at least this often.
constexpr double kOneSided = 0.95;

/// Returns the rows of accuracies, or those with layers, with the mean over tasks under its name.
Results accuracies(const Results& results, bool with_layers) {
  Results part = results;
  std::erase_if(part.rows, [&](const ResultRow& row) {
    const std::string& measure = row.text(col::kMeasure);
    const bool is_detail = measure == "brier" || measure == "margin" || measure == "acc_bytes" ||
                           measure == "log_likelihood";
    return is_detail || row.has(col::kLayer) != with_layers || row.has(col::kKind);
  });
  std::ranges::stable_sort(part.rows, [](const ResultRow& a, const ResultRow& b) {
    return (a.text(col::kLevel) != "all") > (b.text(col::kLevel) != "all");
  });
  for (ResultRow& row : part.rows) {
    if (row.text(col::kLevel) == "all") row.set(col::kName, kMeanName);
  }
  return part;
}

/// Returns the tables of the terminal.
std::vector<Table> accuracy_tables(const Results& results) {
  TableLayout layout;
  layout.block = {col::kMeasure};
  layout.line = col::kName;
  layout.spread = {};
  layout.ceiling = {};
  std::vector<Table> tables = {pivot_table(accuracies(results, false), layout)};
  Results layers = accuracies(results, true);
  std::erase_if(layers.rows, [](const ResultRow& row) {
    return row.text(col::kMeasure) != "acc" && row.text(col::kMeasure) != "probe";
  });
  if (layers.rows.empty()) return tables;
  for (ResultRow& row : layers.rows) {
    const char* const reader = row.text(col::kMeasure) == "acc" ? "logit lens" : "probe";
    row.set(col::kName, fmt::format("{}, {}", row.text(col::kName), reader));
  }
  layout.block = {col::kLabel};
  layout.line = col::kLayer;
  layout.series = col::kName;
  layout.hide_interval();
  layout.spread = col::kStderr;
  layout.heading = [](const RowPointers& rows) {
    return rows.front()->text(col::kLabel) + ": accuracy by layer, +- standard error";
  };
  tables.push_back(pivot_table(layers, layout));
  return tables;
}

/// Returns the table of papers: a line per model, a column per task.
Table task_table(const Results& results) {
  Results part = accuracies(results, false);
  std::erase_if(part.rows, [](const ResultRow& row) {
    const std::string& measure = row.text(col::kMeasure);
    return measure != "acc" && measure != "strict-match";
  });
  const auto cell = [](const RowPointers& rows) -> TableCell {
    return MeasuredCell{.value = 100.0 * rows.front()->number(col::kMean),
                        .spread = 100.0 * rows.front()->number(col::kStderr),
                        .digits = 1,
                        .spread_form = SpreadForm::kParentheses};
  };
  const auto heading = [](std::string name) {
    std::ranges::replace(name, '_', ' ');
    return name == kMeanName ? "Avg" : latex_escaped(name);
  };
  Table table = name_table(part.rows, {{col::kLabel, "Model"}}, cell, heading);
  table.notes = {"acc (generated text: strict-match) in percent (standard error)"};
  return table;
}

std::vector<ReportPart> choices_parts(const Results& results) {
  std::vector<ReportPart> parts;
  for (Table& table : accuracy_tables(results)) {
    parts.push_back({std::move(table), ShownIn::kTerminal});
  }
  parts.push_back({task_table(results), ShownIn::kPaper});
  return parts;
}

void fill_choices_report(Report& report, const ChoicesOptions& options) {
  const bool has_multirc = std::ranges::any_of(report.results.rows, [](const ResultRow& row) {
    return row.text(col::kName).find("multirc") != std::string::npos;
  });
  report.notes.push_back(
      fmt::format("accuracy on benchmarks, preset {}{}", enum_name(options.preset),
                  has_multirc && options.preset == ChoicesPreset::kLmEval
                      ? "; MultiRC as lm-evaluation-harness scores it, with the label inverted"
                      : ""));
  for (const ResultRow& row : report.results.rows) {
    const NumberArray* const numbers = row.cell(col::kPredictionShares).array();
    if (numbers == nullptr || numbers->values.empty()) continue;
    const std::vector<double>& shares = numbers->values;
    const auto most = std::ranges::max_element(shares);
    if (*most < kOneSided) continue;
    report.notes.push_back(fmt::format(
        "{}, {}: selects choice {} for {:.0f}% of the items; the majority class has {:.1f}%",
        row.text(col::kLabel), row.text(col::kName), most - shares.begin(), 100.0 * *most,
        100.0 * row.number(col::kMajority)));
  }
  report.legend =
      fmt::format("value [{:g}% interval: Wilson over items; normal over clusters, runs and tasks]",
                  options.confidence * 100.0);
  report.parts = choices_parts;
  if (!rows_with(report.results.rows, {{col::kKind, "depth"}}).empty()) {
    report.sections.push_back(
        {.kind = "depth",
         .notes = {"first layer within one standard error of the best layer's accuracy"},
         .columns = {table_column(col::kName, "task"), table_column(col::kMeasure),
                     table_column(col::kLayer), number_column(col::kMean, 3, "accuracy"),
                     number_column(col::kCeiling, 3, "best")},
         .heading = [](const ResultRow& row) { return row.text(col::kLabel); }});
  }
  if (rows_with(report.results.rows, {{col::kKind, "mcnemar"}}).empty()) return;
  ReportSection tests{
      .kind = "mcnemar",
      .notes = {"McNemar's exact test over items; p_holm: corrected over the tasks"},
      .columns = {table_column(col::kName, "task"), table_column(col::kMeasure),
                  number_column(col::kDifference, 4), table_column(col::kN),
                  table_column(col::kBaselineOnly, "only first"),
                  table_column(col::kLabelOnly, "only second"), number_column(col::kP, 4),
                  number_column(col::kPHolm, 4)},
      .heading = [](const ResultRow& row) {
        return difference_name(row.text(col::kLabel), row.text(col::kBaseline));
      }};
  report.sections.push_back(std::move(tests));
}

}  // namespace

void ChoicesOptions::describe_inputs(OptionList& list) {
  list.add("samples", samples, "samples of lime-eval or of lm-eval --log_samples");
}

void ChoicesOptions::describe(OptionList& list) {
  list.add("label", label,
           "names of the models, one per file in order; files of one model have the same; default: "
           "from the file names")
      .takes_several = true;
  list.add("task", task, "tasks to show; default: all");
  list.add(
      "preset", preset,
      "lm-eval: as the harness; lime-paper: standard errors that count runs as items; corrected: "
      "MultiRC with the correct label, standard errors over its paragraphs");
  list.add("confidence", confidence, "confidence level of the intervals, in (0, 1)");
}

void ChoicesOptions::validate() const {
  throw_if(samples.empty(), OptionName("samples"),
           "expected at least one file of lime-eval, got none");
  throw_if(!label.empty() && label.size() != samples.size(), OptionName("label"),
           "expected one name per file, got {} ({}) for {} files; put the "
           "files before --label",
           label.size(), join_words(label), samples.size());
  throw_if(!(confidence > 0.0 && confidence < 1.0), OptionName("confidence"),
           "must be in (0, 1), got {}", confidence);
}

Analysis prepare_choices(const ChoicesOptions& options, const RunOptions&) {
  options.validate();
  const std::vector<std::string> labels =
      options.label.empty() ? default_labels(options.samples) : options.label;
  const auto tasks =
      std::make_shared<const std::vector<AnsweredTask>>(read_answers(options, labels));
  Analysis analysis;
  analysis.metric = "choices";
  analysis.options = stored_options(options);
  for (std::size_t f = 0; f < options.samples.size(); ++f) {
    analysis.inputs.push_back({options.samples[f].string(), labels[f], {options.samples[f]}});
  }
  for (const AnsweredTask& task : *tasks) {
    Unit unit;
    unit.key = {{col::kLabel, task.label},
                {col::kTask, task.filter.empty() ? task.name : task.name + " " + task.filter}};
    unit.where = fmt::format("'{}', task '{}'", task.label, task.name);
    Sha256 hash;
    for (const std::string& id : task.ids) hash.update(id);
    unit.identity = hash.hex_digest();
    unit.bytes = std::ssize(task.ids) * 64;
    unit.measure = [tasks, &task, options](const UnitContext&) {
      return measure_task(task, options);
    };
    analysis.units.push_back(std::move(unit));
  }
  analysis.more_rows = [tasks, options](std::span<const UnitResult> units) {
    std::vector<ResultRow> rows = group_rows(*tasks, units, options);
    for (const auto& more : {depth_rows(*tasks, units), mcnemar_rows(*tasks, options)}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  };
  analysis.present = [options](Report& report, auto) { fill_choices_report(report, options); };
  return analysis;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_results.h"

#include <cmath>
#include <fstream>
#include <tuple>

#include "analysis/engine/row_summaries.h"
#include "analysis/report/latex_printer.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

ResultRow group_row(const TaskGroup& group, const std::vector<TaskOutcome>& outcomes,
                    const SummaryOptions& options) {
  std::vector<double> accuracies;
  double control = 0.0;
  std::int64_t pairs = 0;
  bool has_control = true;
  for (const std::size_t t : group.members) {
    accuracies.push_back(outcomes[t].accuracy);
    pairs += outcomes[t].pairs;
    has_control = has_control && outcomes[t].control.has_value();
    control += outcomes[t].control.value_or(0.0);
  }
  ResultRow row = {{col::kLevel, group.level}, {col::kName, group.name}};
  if (group.level == "field") row.set(col::kField, group.name);
  if (group.level == "linguistics_term") row.set(col::kLinguisticsTerm, group.name);
  row.set(col::kTasks, group.members.size()).set(col::kPairs, pairs);
  Summary summary = summarize(accuracies, options);
  const TaskOutcome& first = outcomes[group.members.front()];
  if (group.members.size() == 1 && first.interval) {
    std::tie(summary.ci_low, summary.ci_high) = *first.interval;
  }
  set_summary(row, summary);
  if (has_control) row.set(col::kControl, control / static_cast<double>(group.members.size()));
  return row;
}

constexpr const char* kMeanName = "mean over tasks";
/// By PairOutcome.
constexpr std::array kVerdicts = {"right", "wrong", "tie"};

void write_zero_shot(std::ostream& out, const BlimpShared::Input& input) {
  const std::vector<Sequence>& sequences = input.capture.reader.sequences();
  for (const PairTask& task : input.tasks) {
    const PairScores scores = scores_of(input.capture.reader, task);
    const std::vector<PairOutcome> outcomes = compare_pairs(scores.good, scores.bad);
    for (std::size_t i = 0; i < task.pairs.size(); ++i) {
      const Sequence& good = sequences[static_cast<std::size_t>(task.pairs[i].good)];
      const Sequence& bad = sequences[static_cast<std::size_t>(task.pairs[i].bad)];
      out << dump_json({{"label", input.capture.label},
                        {"task", task.name},
                        {"pair", task.pairs[i].number},
                        {"verdict", kVerdicts[static_cast<std::size_t>(outcomes[i])]},
                        {"log_likelihood_good", good.log_likelihood},
                        {"log_likelihood_bad", bad.log_likelihood},
                        {"tokens_good", good.scored_tokens},
                        {"tokens_bad", bad.scored_tokens},
                        {"sentence_good", good.text},
                        {"sentence_bad", bad.text}})
          << '\n';
    }
  }
}

void write_probes(std::ostream& out, const BlimpShared::Input& input, const ResultRow& key,
                  const UnitResult& unit) {
  const MatrixD& judged = unit.matrices.at(0).values;
  Eigen::Index place = 0;
  for (const PairTask& task : input.tasks) {
    for (const SentencePair& pair : task.pairs) {
      Json line = row_to_json(key);
      line["task"] = task.name;
      line["pair"] = pair.number;
      line["good_right"] = judged(place, 0) > 0.5;
      line["bad_right"] = judged(place, 1) > 0.5;
      out << dump_json(line) << '\n';
      ++place;
    }
  }
}

std::string level_of(const BlimpOptions& options) { return std::string(enum_name(options.by)); }

Results rows_of_level(const Results& results, const std::string& level) {
  Results part = results;
  std::erase_if(part.rows, [&](const ResultRow& row) { return row.text(col::kLevel) != level; });
  return part;
}

/// The breakdown, and the mean over tasks as its last line.
Results breakdown(const Results& results, const std::string& level) {
  Results part = rows_of_level(results, level);
  for (ResultRow row : rows_of_level(results, "all").rows) {
    row.set(col::kName, kMeanName);
    part.rows.push_back(std::move(row));
  }
  return part;
}

Table zero_shot_table(const Results& results, const std::string& level) {
  const TableLayout layout{
      .block = {col::kPreset}, .line = col::kName, .spread = {}, .ceiling = {}};
  return pivot_table(breakdown(results, level), layout);
}

/// Returns the accuracy of probes on random labels.
Table control_table(const Results& controls) {
  const TableLayout layout{.value = col::kControl,
                           .spread = {},
                           .low = {},
                           .high = {},
                           .ceiling = {},
                           .heading = [](const RowPointers& rows) {
                             return rows.front()->text(col::kSite) +
                                    ", control: the two labels of every pair in random order";
                           }};
  return pivot_table(controls, layout);
}

std::vector<Table> probe_tables(const Results& results, const BlimpOptions& options) {
  TableLayout layers{.ceiling = {}};
  if (options.summary.resamples == 0) layers.hide_interval();
  Results means = rows_of_level(results, "all");
  std::vector<Table> tables = {pivot_table(means, layers)};
  std::erase_if(means.rows, [](const ResultRow& row) { return !row.has(col::kControl); });
  if (!means.rows.empty()) tables.push_back(control_table(means));
  const TableLayout groups{
      .block = {col::kLabel, col::kSite},
      .line = col::kName,
      .series = col::kLayer,
      .spread = {},
      .low = {},
      .high = {},
      .ceiling = {},
      .heading = [](const RowPointers& rows) {
        return block_name(*rows.front(), {col::kLabel, col::kSite}) + ": accuracy by layer";
      }};
  if (options.by != BlimpBreakdown::kLayer) {
    tables.push_back(pivot_table(breakdown(results, level_of(options)), groups));
  }
  return tables;
}

/// The table of papers: a line per model, a column per task or group.
Table paper_table(const Results& results, const std::string& level, bool zero_shot) {
  const auto cell = [](const RowPointers& layers) -> TableCell {
    double sum = 0.0;
    double squares = 0.0;
    for (const ResultRow* row : layers) {
      const double value = 100.0 * row->number(col::kMean);
      sum += value;
      squares += value * value;
    }
    const auto count = static_cast<double>(layers.size());
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    if (layers.size() == 1) return NumberCell{mean, 2};
    return MeasuredCell{
        .value = mean, .spread = deviation, .digits = 2, .spread_form = SpreadForm::kParentheses};
  };
  const auto heading = [](std::string name) {
    if (name == kMeanName) return std::string("Avg");
    std::ranges::replace(name, '_', ' ');
    return fmt::format("\\rotatebox{{90}}{{{}}}", latex_escaped(name));
  };
  std::vector<std::pair<Column, std::string>> lines = {{col::kLabel, "Model"}};
  if (!zero_shot) lines.emplace_back(col::kSite, "Site");
  Table table = name_table(breakdown(results, level).rows, lines, cell, heading);
  table.notes = {"values in percent; headings need \\usepackage{graphicx}"};
  if (!zero_shot) {
    table.notes.emplace_back("cells: mean over layers (standard deviation over layers, ddof 0)");
  }
  return table;
}

/// The layout of the paper's Table 2: a row per layer, a column per site and model.
Table layers_table(const Results& results) {
  Results cells = rows_of_level(results, "all");
  for (ResultRow& row : cells.rows) {
    row.set(col::kLabel, fmt::format("{}, {}", row.text(col::kLabel), row.text(col::kSite)));
  }
  const TableLayout layout{.block = {col::kLevel}, .heading = [](const RowPointers&) {
                             return "Accuracy, mean and standard deviation over tasks";
                           }};
  return pivot_table(cells, layout);
}

std::vector<ReportPart> blimp_parts(const Results& results, const BlimpOptions& options) {
  const std::string level = level_of(options);
  std::vector<ReportPart> parts;
  if (options.zero_shot) {
    parts.push_back({zero_shot_table(results, level), ShownIn::kTerminal});
  } else {
    for (Table& table : probe_tables(results, options)) {
      parts.push_back({std::move(table), ShownIn::kTerminal});
    }
  }
  const bool by_layer = options.by == BlimpBreakdown::kLayer;
  parts.push_back(
      {by_layer ? layers_table(results) : paper_table(results, level, options.zero_shot),
       ShownIn::kPaper});
  return parts;
}

/// "67 tasks, 67000 pairs"; with the rows' kind for probes.
std::string describe_input(const BlimpShared::Input& input, const BlimpOptions& options) {
  const CaptureInfo& info = input.capture.reader.info();
  std::string text = fmt::format("{}: {} task{}, {} pairs", input.capture.label, input.tasks.size(),
                                 input.tasks.size() == 1 ? "" : "s", count_pairs(input.tasks));
  if (!options.zero_shot) {
    text += info.rows == RowKind::kMean ? ", each row is the mean over the tokens of a sentence"
                                        : ", each row is the last token of a sentence";
  }
  if (!info.complete) text += "; INCOMPLETE: shards are missing";
  return text;
}

/// "6 ties (passive_1: 324, 810; ...)".
std::string describe_ties(const BlimpShared::Input& input) {
  constexpr int kMaxListedPairs = 20;
  std::string list;
  std::int64_t count = 0;
  for (const PairTask& task : input.tasks) {
    const PairScores scores = scores_of(input.capture.reader, task);
    std::string places;
    for (std::size_t i = 0; i < task.pairs.size(); ++i) {
      if (scores.good[i] != scores.bad[i]) continue;
      if (++count > kMaxListedPairs) continue;
      places += fmt::format("{}{}", places.empty() ? "" : ", ", task.pairs[i].number);
    }
    if (places.empty()) continue;
    list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", task.name, places);
  }
  if (count == 0) return fmt::format("{}: no ties", input.capture.label);
  return fmt::format("{}: {} tie{}, counted as {} ({}{})", input.capture.label, count,
                     count == 1 ? "" : "s", enum_name(input.ties), list,
                     count > kMaxListedPairs ? "; ..." : "");
}

std::string what_is_measured(const BlimpShared& shared) {
  if (shared.options.zero_shot) {
    return fmt::format(
        "zero-shot accuracy on minimal pairs, preset {}: fraction of pairs whose good sentence has "
        "the higher likelihood; groups are unweighted means over their tasks",
        shared.inputs.front().preset);
  }
  return fmt::format(
      "accuracy of a linear probe that separates good from bad sentences, per task; {} folds, "
      "pairs kept together; chance is 0.5",
      shared.options.folds);
}

}  // namespace

std::vector<ResultRow> group_rows(const std::vector<TaskGroup>& groups,
                                  const std::vector<TaskOutcome>& outcomes,
                                  const SummaryOptions& summary) {
  std::vector<ResultRow> rows;
  for (const TaskGroup& group : groups) rows.push_back(group_row(group, outcomes, summary));
  return rows;
}

ResultRow task_row(const PairTask& task) {
  ResultRow row = {{col::kLevel, "task"}, {col::kName, task.name}, {col::kTask, task.name}};
  if (!task.field.empty()) row.set(col::kField, task.field);
  if (!task.term.empty()) row.set(col::kLinguisticsTerm, task.term);
  return row.set(col::kTasks, 1).set(col::kPairs, task.pairs.size());
}

Samples pair_samples(const std::vector<std::vector<double>>& values, const std::string& identity) {
  std::size_t total = 0;
  for (const auto& task : values) total += task.size();
  Samples samples{.quantity = "accuracy", .items = "pairs", .identity = identity, .values = {}};
  for (const auto& task : values) {
    const std::size_t even = values.size() * task.size();
    const double weight =
        total == even ? 1.0 : static_cast<double>(total) / static_cast<double>(even);
    for (const double value : task) samples.values.push_back(weight * value);
  }
  return samples;
}

std::int64_t count_pairs(const std::vector<PairTask>& tasks) {
  std::int64_t count = 0;
  for (const PairTask& task : tasks) count += std::ssize(task.pairs);
  return count;
}

void write_judgements(AtomicFile& file, const BlimpShared& shared,
                      const std::vector<ResultRow>& keys, std::span<const UnitResult> units) {
  std::ofstream out(file.temporary(), std::ios::binary);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto input = std::ranges::find(
        shared.inputs, keys[u].text(col::kLabel),
        [](const BlimpShared::Input& candidate) { return candidate.capture.label; });
    if (shared.options.zero_shot) {
      write_zero_shot(out, *input);
    } else {
      write_probes(out, *input, keys[u], units[u]);
    }
  }
  out.close();
  if (!out) throw IoError("'{}': cannot be written", file.path().string());
  file.commit();
}

void fill_blimp_report(Report& report, const BlimpShared& shared) {
  const BlimpOptions options = shared.options;
  report.notes.push_back(what_is_measured(shared));
  for (const BlimpShared::Input& input : shared.inputs) {
    report.notes.push_back(describe_input(input, options));
    if (options.zero_shot) report.notes.push_back(describe_ties(input));
  }
  if (options.zero_shot) {
    report.legend = fmt::format(
        "accuracy [{:g}% interval: Wilson interval over pairs for single tasks, bootstrap over "
        "tasks for groups]",
        options.summary.confidence * 100.0);
  } else {
    report.legend = fmt::format(
        "mean +- standard deviation over tasks [{:g}% bootstrap interval of the mean over tasks]",
        options.summary.confidence * 100.0);
  }
  report.parts = [options](const Results& results) { return blimp_parts(results, options); };
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/report/column_table.h"
#include "analysis/report/latex_table.h"
#include "analysis/report/text_table.h"

namespace lime {
namespace {

std::string level_of(const BlimpOptions& options) { return std::string(enum_name(options.by)); }

/// Rows of one level.
Results rows_of_level(const Results& results, const std::string& level) {
  Results part = results;
  std::erase_if(part.rows, [&](const Json& row) { return row.at("level") != level; });
  return part;
}

/// The breakdown, and the mean over tasks as its last line.
Results breakdown(const Results& results, const std::string& level) {
  Results part = rows_of_level(results, level);
  for (Json row : rows_of_level(results, "all").rows) {
    row["name"] = "mean over tasks";
    part.rows.push_back(std::move(row));
  }
  return part;
}

TableLayout accuracy_layout() {
  TableLayout layout;
  layout.ceiling.clear();
  return layout;
}

std::string zero_shot_text(const Results& results, const std::string& level,
                           const TextStyle& style) {
  TableLayout layout = accuracy_layout();
  layout.block = {"preset"};
  layout.line = "name";
  layout.spread.clear();
  return results_to_text(breakdown(results, level), layout, style);
}

/// Returns the accuracy of probes on random labels; empty without --control.
std::string control_text(const Results& means, const TextStyle& style) {
  Results part = means;
  std::erase_if(part.rows, [](const Json& row) { return !row.contains("control"); });
  if (part.rows.empty()) return "";
  TableLayout layout = accuracy_layout();
  layout.value = "control";
  layout.spread.clear();
  layout.low.clear();
  layout.high.clear();
  layout.heading = [](const std::string& name, const std::vector<const Json*>&) {
    return name + ", control: the two labels of every pair in random order";
  };
  return "\n" + results_to_text(part, layout, style);
}

std::string probe_text(const Results& results, const BlimpOptions& options,
                       const TextStyle& style) {
  TableLayout layers = accuracy_layout();
  if (options.summary.resamples == 0) {
    layers.low.clear();
    layers.high.clear();
  }
  std::string text = results_to_text(rows_of_level(results, "all"), layers, style);
  text += control_text(rows_of_level(results, "all"), style);
  TableLayout groups = accuracy_layout();
  groups.block = {"label", "site"};
  groups.line = "name";
  groups.series = "layer";
  groups.spread.clear();
  groups.low.clear();
  groups.high.clear();
  groups.heading = [](const std::string& name, const std::vector<const Json*>&) {
    return name + ": accuracy by layer";
  };
  return text + "\n" + results_to_text(breakdown(results, level_of(options)), groups, style);
}

/// Mean and deviation (ddof 0) over layers of one cell of the LaTeX table.
struct Cell {
  double sum = 0.0;
  double squares = 0.0;
  int count = 0;

  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
};

/// One row per model and site; its cells are texts under the names of the groups.
std::vector<Json> latex_rows(const Results& results, const std::string& level, bool zero_shot) {
  std::vector<Json> rows;
  std::vector<std::map<std::string, Cell>> cells;
  const Results part = breakdown(results, level);
  for (const Json& row : part.rows) {
    Json key = {{"label", row.at("label")}, {"site", zero_shot ? Json("") : row.at("site")}};
    auto found = std::find(rows.begin(), rows.end(), key);
    if (found == rows.end()) {
      found = rows.insert(rows.end(), key);
      cells.emplace_back();
    }
    Cell& cell = cells[static_cast<std::size_t>(found - rows.begin())][row.at("name")];
    const double value = 100.0 * results_number(row, "mean");
    cell.sum += value;
    cell.squares += value * value;
    ++cell.count;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [name, cell] : cells[i]) {
      rows[i]["cell:" + name] = cell.count == 1
                                    ? fmt::format("{:.2f}", cell.mean())
                                    : fmt::format("{:.2f} ({:.2f})", cell.mean(), cell.deviation());
    }
  }
  return rows;
}

/// "anaphor_agreement" -> "anaphor agreement".
std::string readable(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::vector<TableColumn> latex_columns(const Results& results, const std::string& level,
                                       bool zero_shot) {
  std::vector<TableColumn> columns = {{"Model", text_cell("label"), false}};
  if (!zero_shot) columns.push_back({"Site", text_cell("site"), false});
  std::vector<std::string> seen;
  for (const Json& row : breakdown(results, level).rows) {
    const std::string name = row.at("name");
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    const bool is_last = name == "mean over tasks";
    const std::string shown = is_last ? "Avg" : latex_escaped(readable(name));
    columns.push_back(
        {.header = name,
         .cell = text_cell("cell:" + name),
         .latex_header = is_last ? shown : fmt::format("\\rotatebox{{90}}{{{}}}", shown)});
  }
  return columns;
}

std::string latex(const Results& results, std::vector<std::string> notes, const std::string& level,
                  bool zero_shot) {
  notes.emplace_back("values in percent; headings need \\usepackage{graphicx}");
  if (!zero_shot) {
    notes.emplace_back("cells: mean over layers (standard deviation over layers, ddof 0)");
  }
  const std::vector<Json> rows = latex_rows(results, level, zero_shot);
  std::vector<const Json*> pointers;
  for (const Json& row : rows) pointers.push_back(&row);
  return columns_to_latex(pointers, latex_columns(results, level, zero_shot), notes);
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
  constexpr int kMostListed = 20;
  std::string list;
  std::int64_t count = 0;
  for (const PairTask& task : input.tasks) {
    const PairScores scores = scores_of(input.capture.reader, task);
    std::string places;
    for (std::size_t i = 0; i < task.pairs.size(); ++i) {
      if (scores.good[i] != scores.bad[i]) continue;
      if (++count > kMostListed) continue;
      places += fmt::format("{}{}", places.empty() ? "" : ", ", task.pairs[i].number);
    }
    if (places.empty()) continue;
    list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", task.name, places);
  }
  if (count == 0) return fmt::format("{}: no ties", input.capture.label);
  return fmt::format("{}: {} tie{}, counted as {} ({}{})", input.capture.label, count,
                     count == 1 ? "" : "s", enum_name(input.ties), list,
                     count > kMostListed ? "; ..." : "");
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

Report make_blimp_report(Results results, const BlimpShared& shared) {
  const BlimpOptions options = shared.options;
  const std::string level = level_of(options);
  Report report;
  report.notes.push_back(what_is_measured(shared));
  for (const BlimpShared::Input& input : shared.inputs) {
    report.notes.push_back(describe_input(input, options));
    if (options.zero_shot) report.notes.push_back(describe_ties(input));
  }
  if (options.zero_shot) {
    report.legend = fmt::format(
        "accuracy [{:g} % interval: Wilson interval over pairs for single tasks, bootstrap over "
        "tasks for groups]",
        options.summary.confidence * 100.0);
    report.text = [level](const Results& table, const TextStyle& style) {
      return zero_shot_text(table, level, style);
    };
  } else {
    report.legend = fmt::format(
        "mean +- standard deviation over tasks [{:g} % bootstrap interval of the mean over tasks]",
        options.summary.confidence * 100.0);
    report.text = [options](const Results& table, const TextStyle& style) {
      return probe_text(table, options, style);
    };
  }
  report.latex = [level, zero_shot = options.zero_shot](const Results& table,
                                                        const std::vector<std::string>& notes) {
    return latex(table, notes, level, zero_shot);
  };
  report.results = std::move(results);
  return report;
}

}  // namespace lime

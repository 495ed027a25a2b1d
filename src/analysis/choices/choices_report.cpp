// SPDX-License-Identifier: Apache-2.0
#include "analysis/choices/choices_report.h"

namespace lime {
namespace {

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

std::string text_of(const Results& results, const TextStyle& style) {
  TableLayout layout;
  layout.block = {col::kMeasure};
  layout.line = col::kName;
  layout.spread = {};
  layout.ceiling = {};
  std::string text = results_to_text(accuracies(results, false), layout, style);
  Results layers = accuracies(results, true);
  std::erase_if(layers.rows, [](const ResultRow& row) {
    return row.text(col::kMeasure) != "acc" && row.text(col::kMeasure) != "probe";
  });
  if (layers.rows.empty()) return text;
  for (ResultRow& row : layers.rows) {
    const char* const reader = row.text(col::kMeasure) == "acc" ? "logit lens" : "probe";
    row.set(col::kName, fmt::format("{}, {}", row.text(col::kName), reader));
  }
  layout.block = {col::kLabel};
  layout.line = col::kLayer;
  layout.series = col::kName;
  layout.hide_interval();
  layout.spread = col::kStderr;
  layout.heading = [](const std::string& name, const std::vector<const ResultRow*>&) {
    return name + ": accuracy by layer, +- standard error";
  };
  return text + "\n" + results_to_text(layers, layout, style);
}

std::string readable(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string latex_of(const Results& results, std::vector<std::string> notes) {
  notes.emplace_back("acc (generated text: strict-match) in percent (standard error)");
  Results part = accuracies(results, false);
  std::erase_if(part.rows, [](const ResultRow& row) {
    const std::string& measure = row.text(col::kMeasure);
    return measure != "acc" && measure != "strict-match";
  });
  std::vector<const ResultRow*> lines;
  for (const ResultRow& row : part.rows) {
    const bool is_new = std::ranges::none_of(lines, [&](const ResultRow* line) {
      return line->text(col::kLabel) == row.text(col::kLabel);
    });
    if (is_new) lines.push_back(&row);
  }
  std::vector<TableColumn> columns = {table_column(col::kLabel, "Model")};
  for (const std::string& name : distinct(part.rows, col::kName)) {
    const auto cell = [&part, name](const ResultRow& line) -> std::string {
      for (const ResultRow& row : part.rows) {
        if (row.text(col::kName) != name || row.text(col::kLabel) != line.text(col::kLabel))
          continue;
        return fmt::format("{:.1f} ({:.1f})", 100.0 * row.number(col::kMean),
                           100.0 * row.number(col::kStderr));
      }
      return "";
    };
    columns.push_back({.header = name,
                       .cell = cell,
                       .latex_header = name == kMeanName ? "Avg" : latex_escaped(readable(name))});
  }
  return columns_to_latex(lines, columns, notes);
}

}  // namespace

void fill_choices_report(Report& report, const ChoicesOptions& options) {
  report.notes.push_back(
      fmt::format("accuracy on benchmarks, preset {}{}", enum_name(options.preset),
                  options.preset == ChoicesPreset::kLmEval
                      ? "; MultiRC as lm-evaluation-harness scores it, with the label inverted"
                      : ""));
  for (const ResultRow& row : report.results.rows) {
    if (!row.has(col::kPredictionShares)) continue;
    const auto shares = row.cell(col::kPredictionShares).get<std::vector<double>>();
    const auto most = std::ranges::max_element(shares);
    if (*most < kOneSided) continue;
    report.notes.push_back(fmt::format(
        "{}, {}: selects choice {} for {:.0f} % of the items; the majority class has {:.1f} %",
        row.text(col::kLabel), row.text(col::kName), most - shares.begin(), 100.0 * *most,
        100.0 * row.number(col::kMajority)));
  }
  report.legend = fmt::format(
      "value [{:g} % interval: Wilson over items; normal over clusters, runs and tasks]",
      options.confidence * 100.0);
  report.text = text_of;
  report.latex = latex_of;
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
        return row.text(col::kLabel) + " - " + row.text(col::kBaseline);
      }};
  report.sections.push_back(std::move(tests));
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/utf8.h"

namespace lime {
namespace {

std::string describe_capture(const ChosenCapture& capture, const ClassRows& rows) {
  std::string words;
  for (std::size_t k = 0; k < rows.class_names.size(); ++k) {
    const std::int64_t count = rows.count(static_cast<std::int16_t>(k));
    if (count == 0) continue;
    words +=
        fmt::format("{}'{}' {}", words.empty() ? "" : ", ", printable(rows.class_names[k]), count);
  }
  std::string text = fmt::format("{}: {} rows ({}), {}", capture.label, rows.size(), words,
                                 capture.reader.path().string());
  if (!capture.reader.complete()) text += " (incomplete: the capture was interrupted)";
  return text;
}

std::string describe_method(std::string_view method, const SeparabilityOptions& options) {
  const bool grouped = options.group == ProbeGroup::kSequence;
  if (method == "lime-code") {
    return fmt::format(
        "lime-code: nn.Linear on raw features, one epoch of Adam (1e-2, batches of 64), {}({}, "
        "shuffled, random_state {}), mean over batches: also reflects how fast the classifier "
        "learns",
        grouped ? "GroupKFold" : "KFold", options.folds, options.random_state);
  }
  return fmt::format(
      "converged: logistic regression at its optimum, C {:g}{}, features {}, {} folds, {}",
      fmt::join(options.probe.c, ", "),
      options.probe.c.size() > 1 ? " (selected within each fold)" : "",
      options.probe.fit.scaling == FeatureScaling::kStandardize ? "standardised" : "unscaled",
      options.folds, grouped ? "grouped by sequence" : "stratified");
}

/// "values, converged, shuffled (dim 32)".
std::string block_heading(const std::vector<const ResultRow*>& rows) {
  const ResultRow& row = *rows.front();
  std::string text = fmt::format("{}, {}", row.text(col::kSite), row.text(col::kMethod));
  const auto labels = row.text(col::kLabels);
  if (labels != "words") text += fmt::format(", {}", labels);
  text += fmt::format(" (dim {}", row.shown(col::kDim));
  if (row.has(col::kMajority)) {
    text += fmt::format(", majority {:.3f}", row.number(col::kMajority));
  }
  return text + ")";
}

void add_convergence_note(Report& report, const Results& results) {
  double largest = 0.0;
  std::size_t fits = 0;
  std::size_t unfinished = 0;
  for (const ResultRow& row : results.rows) {
    if (!row.has(col::kGradientNorm)) continue;
    ++fits;
    largest = std::max(largest, row.number(col::kGradientNorm));
    if (row.cell(col::kConverged) == false) ++unfinished;
  }
  if (fits == 0) return;
  report.notes.push_back(fmt::format("converged to a gradient of at most {:.1e}", largest));
  if (unfinished > 0) {
    report.notes.push_back(fmt::format(
        "{} of {} rows did not reach the tolerance; increase --max-iterations", unfinished, fits));
  }
}

}  // namespace

void fill_separability_report(Report& report, const std::vector<ChosenCapture>& captures,
                              const std::vector<ClassRows>& chosen,
                              const SeparabilityOptions& options) {
  report.layout.block = {col::kSite, col::kMethod, col::kLabels};
  report.layout.low = {};
  report.layout.high = {};
  report.layout.ceiling = {};
  report.layout.heading = [](const std::string&, const std::vector<const ResultRow*>& rows) {
    return block_heading(rows);
  };
  report.notes.push_back("accuracy of a linear classifier that separates words");
  if (options.method != SeparabilityMethod::kLimeCode) {
    report.notes.push_back(describe_method("converged", options));
  }
  if (options.method != SeparabilityMethod::kConverged) {
    report.notes.push_back(describe_method("lime-code", options));
  }
  for (std::size_t i = 0; i < captures.size(); ++i) {
    report.notes.push_back(describe_capture(captures[i], chosen[i]));
  }
  add_convergence_note(report, report.results);
  report.legend = "cells: mean, standard deviation over the folds";
}

}  // namespace lime

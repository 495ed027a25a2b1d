// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/engine/analysis.h"
#include "core/errors.h"
#include "core/random.h"
#include "core/utf8.h"
#include "metrics/probes/controls.h"

namespace lime {
namespace {

/// Streams of Random used by the controls.
enum Stream : std::uint64_t { kShuffleStream = 1, kTokenStream, kSequenceStream };

void check_classes(const ClassRows& rows) {
  if (rows.class_names.empty()) {
    throw InvalidArgument(
        "has no classes to separate; capture again with --only ' is, are, was, were'");
  }
  const auto [least, most] = std::minmax_element(rows.class_id.begin(), rows.class_id.end());
  if (!rows.class_id.empty() && *least != *most) return;
  throw InvalidArgument(
      "separability needs at least 2 classes with rows, got {}; capture again with more words",
      rows.class_id.empty()
          ? std::string("none")
          : fmt::format("only '{}'",
                        printable(rows.class_names[static_cast<std::size_t>(*least)])));
}

/// Renumbers the classes that occur as 0, 1, ...
/// @return their names.
std::vector<std::string> number_classes(SeparabilityTask& task) {
  std::map<std::int16_t, int> number_of;
  for (const std::int16_t id : task.rows.class_id) number_of.emplace(id, 0);
  std::vector<std::string> names;
  for (auto& [id, number] : number_of) {
    number = task.num_classes++;
    names.push_back(printable(task.rows.class_names[static_cast<std::size_t>(id)]));
  }
  for (const std::int16_t id : task.rows.class_id) task.classes.push_back(number_of[id]);
  return names;
}

bool has_control(const SeparabilityOptions& options, ProbeControl control) {
  return std::find(options.control.begin(), options.control.end(), control) !=
         options.control.end();
}

void check_controls(const SeparabilityTask& task, const SeparabilityOptions& options) {
  if (has_control(options, ProbeControl::kToken) && types_are_classes(task.tokens, task.classes)) {
    throw InvalidArgument(
        "control: every class is a single token, so random labels per token only rename the "
        "classes; use shuffled, sequence or random-features");
  }
}

void make_task_folds(SeparabilityTask& task, const SeparabilityOptions& options) {
  const bool grouped = options.group == ProbeGroup::kSequence;
  FoldOptions folds{.kind = grouped ? FoldKind::kGrouped : FoldKind::kStratified,
                    .num_folds = options.folds,
                    .seed = options.random_state};
  task.folds = make_folds(task.classes, task.sequences, folds);
  if (!grouped) folds.kind = FoldKind::kShuffled;
  task.lime_code_folds = make_folds(task.classes, task.sequences, folds);
}

/// Derives the remaining fields from the rows. Errors do not name the capture.
void complete_task(SeparabilityTask& task, const CaptureReader& capture,
                   const SeparabilityOptions& options) {
  keep_rows(task.rows, [&](std::size_t i) { return task.rows.class_id[i] >= 0; });
  check_classes(task.rows);
  const std::vector<std::string> names = number_classes(task);
  require_rows_per_class(task.classes, names, options.folds);
  for (const std::int64_t row : task.rows.row) {
    task.tokens.push_back(capture.rows().token[static_cast<std::size_t>(row)]);
    task.sequences.push_back(capture.rows().sequence[static_cast<std::size_t>(row)]);
  }
  check_controls(task, options);
  make_task_folds(task, options);
  task.identity =
      fmt::format("{}, {} rows of {} classes", sequences_identity(capture, capture.num_sequences()),
                  task.rows.size(), task.num_classes);
}

}  // namespace

SeparabilityTask make_separability_task(const CaptureReader& capture,
                                        const SeparabilityOptions& options) {
  SeparabilityTask task;
  task.rows = choose_class_rows(capture,
                                {.classes = options.words, .max_per_class = options.max_per_class});
  try {
    complete_task(task, capture, options);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("'{}': {}", capture.path().string(), error.what());
  }
  return task;
}

std::vector<Labelling> labellings_of(const SeparabilityTask& task,
                                     const SeparabilityOptions& options, std::uint64_t seed) {
  std::vector<Labelling> labellings = {{"words", task.classes}};
  const auto seed_of = [&](Stream stream) { return Random(seed).fork(stream)(); };
  const auto add = [&](ProbeControl control, std::vector<int> classes) {
    labellings.push_back({std::string(enum_name(control)), std::move(classes)});
  };
  for (const ProbeControl control : options.control) {
    switch (control) {
      case ProbeControl::kShuffled:
        add(control, shuffled_labels(task.classes, seed_of(kShuffleStream)));
        break;
      case ProbeControl::kToken:
        add(control, control_task_labels(task.tokens, task.classes, seed_of(kTokenStream)));
        break;
      case ProbeControl::kSequence:
        add(control, control_task_labels(task.sequences, task.classes, seed_of(kSequenceStream)));
        break;
      case ProbeControl::kRandomFeatures:
        break;  // has the words' labels
    }
  }
  return labellings;
}

MatrixF read_task_rows(const CaptureReader& capture, const SeparabilityTask& task,
                       const std::string& site, int layer) {
  MatrixF rows = read_class_rows(capture, site, layer, task.rows);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    if (rows.row(i).allFinite()) continue;
    Eigen::Index dimension = 0;
    while (std::isfinite(rows(i, dimension))) ++dimension;
    const auto row = static_cast<std::size_t>(task.rows.row[static_cast<std::size_t>(i)]);
    throw InvalidArgument(
        "separability: sequence {}: representations must be finite, got {} at token {}, dimension "
        "{}; check the model for overflow, or capture in a wider type",
        capture.rows().sequence[row], rows(i, dimension), capture.rows().position[row], dimension);
  }
  return rows;
}

}  // namespace lime

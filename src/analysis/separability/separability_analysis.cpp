// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_analysis.h"

#include "core/utf8.h"

namespace lime {
namespace {

/// Streams of Random used by the controls.
enum Stream : std::uint64_t { kShuffleStream = 1, kTokenStream, kSequenceStream };

void check_classes(const ClassRows& rows) {
  throw_if(rows.class_names.empty(),
           "has no classes to separate; capture again with --only ' is, are, was, were'");
  const auto [least, most] = std::ranges::minmax_element(rows.class_id);
  if (!rows.class_id.empty() && *least != *most) return;
  throw InvalidArgument(
      "separability needs at least 2 classes with rows, got {}; capture again with more words",
      rows.class_id.empty()
          ? std::string("none")
          : fmt::format("only '{}'",
                        printable(rows.class_names[static_cast<std::size_t>(*least)])));
}

/// Renumbers the classes that occur as 0, 1, ... and returns their names.
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
  return std::ranges::find(options.control, control) != options.control.end();
}

void check_controls(const SeparabilityTask& task, const SeparabilityOptions& options) {
  throw_if(
      has_control(options, ProbeControl::kToken) && types_are_classes(task.tokens, task.classes),
      OptionName("control"),
      "every class is a single token, so random labels per token only rename the "
      "classes; use shuffled, sequence or random-features");
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
}

/// Stream of Random for features; the controls' labels have smaller ones.
constexpr std::uint64_t kFeatureStream = 4;

bool uses(const SeparabilityOptions& options, SeparabilityMethod method) {
  return options.method == method || options.method == SeparabilityMethod::kBoth;
}

template <typename Fold, typename Owner, typename Value>
double mean_over(const std::vector<Fold>& folds, Value Owner::*value) {
  double sum = 0.0;
  for (const Fold& fold : folds) sum += static_cast<double>(fold.*value);
  return sum / static_cast<double>(folds.size());
}

class LayerRows {
 public:
  LayerRows(const SeparabilityTask& task, Eigen::Index dim) : task_(task), dim_(dim) {}

  void add_converged(const std::string& labels, const ProbeResult& probe) {
    const std::vector<ProbeFold>& folds = probe.folds;
    std::vector<double> log_losses;
    for (const ProbeFold& fold : folds) log_losses.push_back(fold.log_loss);
    add("converged", labels, probe.accuracies(),
        {{col::kLogLoss, mean_over(folds, &ProbeFold::log_loss)},
         {col::kTrainAccuracy, mean_over(folds, &ProbeFold::train_accuracy)},
         {col::kMajority, mean_over(folds, &ProbeFold::majority_accuracy)},
         {col::kC, mean_over(folds, &ProbeFold::c)},
         {col::kGradientNorm, probe.largest_gradient_norm()},
         {col::kIterations, mean_over(folds, &ProbeFold::iterations)},
         {col::kConverged, probe.converged()},
         {col::kConfusion, probe.confusion()},
         {col::kFoldLogLosses, log_losses}});
  }

  void add_lime_code(const std::string& labels, const std::vector<AdamProbeFold>& folds) {
    std::vector<double> accuracies;
    for (const AdamProbeFold& fold : folds) accuracies.push_back(fold.accuracy);
    add("lime-code", labels, accuracies,
        {{col::kTrainAccuracy, mean_over(folds, &AdamProbeFold::train_accuracy)},
         {col::kRowAccuracy, mean_over(folds, &AdamProbeFold::row_accuracy)}});
  }

  UnitResult take() { return std::move(result_); }

 private:
  /// Adds a row with the method's own columns in the middle; the first of a method is of the words.
  void add(const std::string& method, const std::string& labels,
           const std::vector<double>& accuracies, const ResultRow& own) {
    const Summary summary = summarize(accuracies, {.resamples = 0});
    ResultRow row = {{col::kMethod, method}, {col::kLabels, labels}};
    result_.samples.push_back(
        {.key = row, .quantity = "accuracy", .items = "folds", .values = accuracies});
    row.add({{col::kMean, summary.mean}, {col::kStd, summary.std}, {col::kN, summary.n}});
    if (method != method_) {
      method_ = method;
      accuracy_of_words_ = summary.mean;
    } else {
      row.set(col::kSelectivity, accuracy_of_words_ - summary.mean);
    }
    row.add(own).add({{col::kFoldAccuracies, accuracies},
                      {col::kRows, task_.rows.size()},
                      {col::kClasses, task_.num_classes},
                      {col::kDim, dim_}});
    result_.rows.push_back(std::move(row));
  }

  const SeparabilityTask& task_;
  const Eigen::Index dim_;
  std::string method_;
  double accuracy_of_words_ = 0.0;
  UnitResult result_;
};

struct Labelling {
  std::string name;  ///< "words", or the name of the control
  std::vector<int> classes;
};

/// Returns the words first, then every control of `options` that changes labels.
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
      case ProbeControl::kRandomFeatures: break;  // has the words' labels
    }
  }
  return labellings;
}

/// Fits the probes of one site and layer: a row and samples per method and labelling.
UnitResult probe_layer(const SeparabilityTask& task, const SeparabilityOptions& options,
                       std::uint64_t seed, const MatrixF& rows, const UnitContext& context) {
  const std::vector<Labelling> labellings = labellings_of(task, options, seed);
  const std::string random_name(enum_name(ProbeControl::kRandomFeatures));
  MatrixF random;
  if (has_control(options, ProbeControl::kRandomFeatures)) {
    random = random_features(rows.rows(), rows.cols(), Random(seed).fork(kFeatureStream)());
  }
  LayerRows result(task, rows.cols());
  if (uses(options, SeparabilityMethod::kConverged)) {
    ProbeOptions probe = options.probe;
    probe.seed = options.random_state;
    ProbeData data{rows, task.classes, task.num_classes};
    if (options.group == ProbeGroup::kSequence) data.groups = task.sequences;
    std::vector<std::vector<int>> labels;
    for (const Labelling& labelling : labellings) labels.push_back(labelling.classes);
    // All labellings of the same rows in one go.
    const std::vector<ProbeResult> probes =
        cross_validate_labels(data, labels, task.folds, probe, {context.pool, context.stop});
    for (std::size_t i = 0; i < probes.size(); ++i) {
      result.add_converged(labellings[i].name, probes[i]);
    }
    if (random.size() > 0) {
      const ProbeData noise{random, task.classes, task.num_classes, data.groups};
      result.add_converged(random_name,
                           cross_validate(noise, task.folds, probe, context.pool, context.stop));
    }
  }
  if (uses(options, SeparabilityMethod::kLimeCode)) {
    const auto run = [&](const std::string& name, const MatrixF& features,
                         const std::vector<int>& classes) {
      result.add_lime_code(
          name, cross_validate_adam({features, classes, task.num_classes}, task.lime_code_folds,
                                    {.seed = seed}, context.pool, context.stop));
    };
    for (const Labelling& labelling : labellings) run(labelling.name, rows, labelling.classes);
    if (random.size() > 0) run(random_name, random, task.classes);
  }
  return result.take();
}

/// Returns the peak memory of probe_layer() in bytes, including its rows.
std::int64_t bytes_of_layer(const SeparabilityTask& task, const SeparabilityOptions& options,
                            std::int64_t dim) {
  constexpr std::int64_t kSmallThings = std::int64_t{16} << 20;
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t num_rows = task.rows.size();
  const std::int64_t matrices = has_control(options, ProbeControl::kRandomFeatures) ? 2 : 1;
  std::int64_t beside = kClassReadRows * dim * kFloat;
  if (uses(options, SeparabilityMethod::kConverged)) {
    beside = std::max(beside, bytes_of_cross_validation(
                                  {.num_rows = num_rows,
                                   .dim = dim,
                                   .num_classes = task.num_classes,
                                   .num_labellings = static_cast<int>(1 + options.control.size()),
                                   .num_folds = options.folds},
                                  options.probe));
  }
  return matrices * num_rows * dim * kFloat + beside + kSmallThings;
}

std::string describe_capture(const ChosenCapture& capture, const ClassRows& rows) {
  std::string text = fmt::format("{}: {} rows ({}), {}", capture.label, rows.size(),
                                 rows.counts_text(), capture.reader.path().string());
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
std::string block_heading(const RowPointers& rows) {
  const ResultRow& row = *rows.front();
  std::string text = fmt::format("{}, {}", row.text(col::kSite), row.text(col::kMethod));
  const auto labels = row.text(col::kLabels);
  if (labels != "words") text += fmt::format(", {}", labels);
  text += fmt::format(" (dim {}", row.shown(col::kDim));
  if (row.has(col::kMajority)) text += fmt::format(", majority {:.3f}", row.number(col::kMajority));
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

struct Shared {
  SeparabilityOptions options;
  std::uint64_t seed = 0;
  std::vector<ChosenCapture> captures;
  std::vector<SeparabilityTask> tasks;  ///< one per capture
};

void fill_report(Report& report, const Shared& shared) {
  const SeparabilityOptions& options = shared.options;
  report.layout.block = {col::kSite, col::kMethod, col::kLabels};
  report.layout.hide_interval();
  report.layout.ceiling = {};
  report.layout.heading = block_heading;
  report.notes.push_back("accuracy of a linear classifier that separates words");
  if (options.method != SeparabilityMethod::kLimeCode) {
    report.notes.push_back(describe_method("converged", options));
  }
  if (options.method != SeparabilityMethod::kConverged) {
    report.notes.push_back(describe_method("lime-code", options));
  }
  for (std::size_t i = 0; i < shared.captures.size(); ++i) {
    report.notes.push_back(describe_capture(shared.captures[i], shared.tasks[i].rows));
  }
  add_convergence_note(report, report.results);
  report.legend = "cells: mean, standard deviation over the folds";
}

}  // namespace

SeparabilityTask make_separability_task(const CaptureReader& capture,
                                        const SeparabilityOptions& options) {
  SeparabilityTask task;
  task.rows = select_class_rows(capture,
                                {.classes = options.words, .max_per_class = options.max_per_class});
  try {
    complete_task(task, capture, options);
  } catch (const InvalidArgument& error) {
    throw prefixed(quoted_path(capture), error);
  }
  return task;
}

void SeparabilityOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip_outliers(list);
  list.add("words", words, "use only these captured words, e.g. ' is, are'");
  list.add("max_per_class", max_per_class, "use only the first N rows of each word");
  list.group("Probe");
  list.add("method", method,
           "to the optimum; one epoch of Adam as the paper's code does it; or both");
  probe.describe(list);
  list.group("Folds and controls");
  list.add("folds", folds, "number of cross-validation folds, >= 2");
  list.add("random_state", random_state, "NumPy random_state of the folds, as in scikit-learn");
  list.add("group", group, "keep the rows of a sequence in the same fold");
  list.add("control", control,
           "control tasks to fit as well: shuffled labels, random labels per token or per "
           "sequence, or random features");
}

void SeparabilityOptions::validate() const {
  captures.validate();
  probe.validate();
  check_option(folds >= 2, "folds", ">= 2", folds);
  require_positive("max_per_class", max_per_class);
  check_option(random_state < std::uint64_t{1} << 32, "random_state", "< 2^32", random_state);
  for (auto named = control.begin(); named != control.end(); ++named) {
    if (std::find(control.begin(), named, *named) == named) continue;
    throw InvalidArgument(OptionName("control"), "'{}' is named twice", enum_name(*named));
  }
}

Analysis prepare_separability(const SeparabilityOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    shared->tasks.push_back(make_separability_task(capture.reader, options));
  }
  Analysis analysis = analysis_of("separability", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    const CaptureReader& capture = shared->captures[place.capture].reader;
    const SeparabilityTask& task = shared->tasks[place.capture];
    unit.identity =
        fmt::format("{}, {} rows of {} classes", shared->captures[place.capture].identity,
                    task.rows.size(), task.num_classes);
    unit.bytes = bytes_of_layer(task, options, capture.dim(place.site, place.layer));
    unit.measure = [shared, &capture, &task, place](const UnitContext& context) {
      const MatrixF rows = read_class_rows(capture, place.site, place.layer, task.rows);
      return probe_layer(task, shared->options, shared->seed, rows, context);
    };
  });
  analysis.threads = threads_for(analysis.units, run);
  analysis.present = [shared](Report& report, auto) { fill_report(report, *shared); };
  return analysis;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability_analysis.h"

#include <algorithm>
#include <map>
#include <memory>

#include "analysis/class_rows.h"
#include "analysis/separability_report.h"
#include "core/errors.h"
#include "core/random.h"
#include "core/utf8.h"
#include "metrics/probes/controls.h"
#include "metrics/summary.h"

namespace lime {
namespace {

/// Streams of Random for the controls, so that none depends on which others are asked for.
enum Stream : std::uint64_t { kShuffleStream = 1, kTokenStream, kSequenceStream, kFeatureStream };

/// The rows of one capture that are told apart; the same for all of its layers.
struct Task {
  ClassRows rows;
  std::vector<int> classes;    ///< [rows], numbered without gaps
  std::vector<int> tokens;     ///< [rows]
  std::vector<int> sequences;  ///< [rows]
  int num_classes = 0;
  Folds folds;            ///< of the converged method
  Folds lime_code_folds;  ///< scikit-learn's KFold
  std::string identity;
};

struct Shared {
  SeparabilityOptions options;
  std::uint64_t seed = 0;
  std::vector<ChosenCapture> captures;
  std::vector<Task> tasks;  ///< one per capture
};

std::string quoted_path(const CaptureReader& capture) {
  return "'" + capture.path().string() + "'";
}

bool asks_for(const SeparabilityOptions& options, SeparabilityMethod method) {
  return options.method == method || options.method == SeparabilityMethod::kBoth;
}

void check_classes(const CaptureReader& capture, const ClassRows& rows) {
  if (rows.class_names.empty()) {
    throw InvalidArgument(
        "{}: has no classes to tell apart; capture again with --only ' is, are, was, were'",
        quoted_path(capture));
  }
  std::map<int, int> counts;
  for (const std::int16_t id : rows.class_id) {
    if (id >= 0) ++counts[id];
  }
  if (counts.size() >= 2) return;
  throw InvalidArgument(
      "{}: separability needs at least 2 classes with rows, got {}; capture again with more words",
      quoted_path(capture),
      counts.empty()
          ? std::string("none")
          : fmt::format(
                "only '{}'",
                printable(rows.class_names[static_cast<std::size_t>(counts.begin()->first)])));
}

/// Numbers the classes that occur 0, 1, ...; rows without a class are dropped.
void number_classes(Task& task, const CaptureReader& capture, int num_folds) {
  ClassRows& rows = task.rows;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.row.size(); ++i) {
    if (rows.class_id[i] < 0) continue;
    rows.row[kept] = rows.row[i];
    rows.class_id[kept++] = rows.class_id[i];
  }
  rows.row.resize(kept);
  rows.class_id.resize(kept);
  std::map<int, int> number_of;
  for (const std::int16_t id : rows.class_id) number_of.emplace(id, 0);
  std::vector<std::string> names;
  for (auto& [id, number] : number_of) {
    number = task.num_classes++;
    names.push_back(printable(rows.class_names[static_cast<std::size_t>(id)]));
  }
  const RowTable& table = capture.rows();
  for (std::size_t i = 0; i < kept; ++i) {
    const auto row = static_cast<std::size_t>(rows.row[i]);
    task.classes.push_back(number_of[rows.class_id[i]]);
    task.tokens.push_back(table.token[row]);
    task.sequences.push_back(table.sequence[row]);
  }
  try {
    require_rows_per_class(task.classes, names, num_folds);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("{}: {}", quoted_path(capture), error.what());
  }
}

void check_controls(const Task& task, const CaptureReader& capture,
                    const SeparabilityOptions& options) {
  const auto wants = [&](ProbeControl control) {
    return std::find(options.control.begin(), options.control.end(), control) !=
           options.control.end();
  };
  if (wants(ProbeControl::kToken) && types_are_classes(task.tokens, task.classes)) {
    throw InvalidArgument(
        "control: in {} every class is one token, so that random labels of tokens are the task "
        "itself under other names; take shuffled, sequence or random-features",
        quoted_path(capture));
  }
}

Task make_task(const CaptureReader& capture, const SeparabilityOptions& options) {
  Task task;
  task.rows = choose_class_rows(capture,
                                {.classes = options.words, .max_per_class = options.max_per_class});
  check_classes(capture, task.rows);
  number_classes(task, capture, options.folds);
  check_controls(task, capture, options);
  FoldOptions folds{
      .kind = options.group == ProbeGroup::kNone ? FoldKind::kStratified : FoldKind::kGrouped,
      .num_folds = options.folds,
      .seed = options.random_state};
  task.folds = make_folds(task.classes, task.sequences, folds);
  folds.kind = FoldKind::kShuffled;
  task.lime_code_folds = make_folds(task.classes, {}, folds);
  task.identity =
      fmt::format("{}, {} rows of {} classes", sequences_identity(capture, capture.num_sequences()),
                  task.rows.size(), task.num_classes);
  return task;
}

/// The task's labels under a control; random features keep the real ones.
std::vector<int> control_labels(const Task& task, ProbeControl control, std::uint64_t seed) {
  const auto stream_seed = [&](Stream stream) { return Random(seed).fork(stream)(); };
  switch (control) {
    case ProbeControl::kShuffled:
      return shuffled_labels(task.classes, stream_seed(kShuffleStream));
    case ProbeControl::kToken:
      return control_task_labels(task.tokens, task.classes, stream_seed(kTokenStream));
    case ProbeControl::kSequence:
      return control_task_labels(task.sequences, task.classes, stream_seed(kSequenceStream));
    case ProbeControl::kRandomFeatures:
      return task.classes;
  }
  throw InvalidArgument("control: unknown, got {}", static_cast<int>(control));
}

/// Confusion matrix as text: rows of true classes, separated by semicolons.
std::string confusion_text(const Eigen::MatrixXi& confusion) {
  std::string text;
  for (Eigen::Index r = 0; r < confusion.rows(); ++r) {
    if (r > 0) text += "; ";
    for (Eigen::Index c = 0; c < confusion.cols(); ++c) {
      text += fmt::format("{}{}", c > 0 ? " " : "", confusion(r, c));
    }
  }
  return text;
}

template <typename Fold, typename Value>
double mean_over(const std::vector<Fold>& folds, const Value& value) {
  double sum = 0.0;
  for (const Fold& fold : folds) sum += static_cast<double>(value(fold));
  return sum / static_cast<double>(folds.size());
}

/// What all rows begin with.
Json first_columns(std::string_view method, const std::string& labels,
                   const std::vector<double>& accuracies) {
  const Summary summary = summarize(accuracies, {.resamples = 0});
  Json row = Json::object();
  row["method"] = std::string(method);
  row["labels"] = labels;
  row["mean"] = summary.mean;
  row["std"] = summary.std;
  row["n"] = summary.n;
  return row;
}

/// One site and layer of one capture while it is measured.
class LayerProbe {
 public:
  LayerProbe(const Shared& shared, const Task& task, MatrixF rows, const UnitContext& context)
      : shared_(shared), task_(task), rows_(std::move(rows)), context_(context) {}

  UnitResult measure() {
    if (asks_for(shared_.options, SeparabilityMethod::kConverged)) measure_converged();
    if (asks_for(shared_.options, SeparabilityMethod::kLimeCode)) measure_lime_code();
    return std::move(result_);
  }

 private:
  static std::string name_of(ProbeControl control) { return std::string(enum_name(control)); }

  const MatrixF& random_rows() {
    if (random_.size() == 0) {
      random_ =
          random_features(rows_.rows(), rows_.cols(), Random(shared_.seed).fork(kFeatureStream)());
    }
    return random_;
  }

  void add(Json row, const std::vector<double>& accuracies) {
    row["rows"] = task_.rows.size();
    row["classes"] = task_.num_classes;
    row["dim"] = rows_.cols();
    result_.samples.push_back({.key = {{"method", row.at("method")}, {"labels", row.at("labels")}},
                               .quantity = "accuracy",
                               .items = "folds",
                               .values = accuracies});
    result_.rows.push_back(std::move(row));
  }

  void add_converged(const std::string& labels, const ProbeResult& probe,
                     std::optional<double> real) {
    Json row = first_columns("converged", labels, probe.accuracies());
    if (real) row["selectivity"] = *real - row.at("mean").get<double>();
    row["log_loss"] = mean_over(probe.folds, [](const ProbeFold& f) { return f.log_loss; });
    row["train_accuracy"] =
        mean_over(probe.folds, [](const ProbeFold& f) { return f.train_accuracy; });
    row["majority"] =
        mean_over(probe.folds, [](const ProbeFold& f) { return f.majority_accuracy; });
    row["c"] = mean_over(probe.folds, [](const ProbeFold& f) { return f.c; });
    row["gradient_norm"] = probe.largest_gradient_norm();
    row["iterations"] = mean_over(probe.folds, [](const ProbeFold& f) { return f.iterations; });
    row["converged"] = probe.converged();
    row["confusion"] = confusion_text(probe.confusion());
    add(std::move(row), probe.accuracies());
  }

  /// All labellings of the same rows in one go; random features by themselves.
  void measure_converged() {
    std::vector<std::vector<int>> labels = {task_.classes};
    std::vector<std::string> names = {"words"};
    for (const ProbeControl control : shared_.options.control) {
      if (control == ProbeControl::kRandomFeatures) continue;
      labels.push_back(control_labels(task_, control, shared_.seed));
      names.push_back(name_of(control));
    }
    ProbeData data{rows_, task_.classes, task_.num_classes};
    if (shared_.options.group == ProbeGroup::kSequence) data.groups = task_.sequences;
    ProbeOptions options = shared_.options.probe;
    options.seed = shared_.options.random_state;
    const ProbeRun run{context_.pool, context_.stop};
    const std::vector<ProbeResult> probes =
        cross_validate_labels(data, labels, task_.folds, options, run);
    std::optional<double> real;
    for (std::size_t i = 0; i < probes.size(); ++i) {
      add_converged(names[i], probes[i], real);
      if (i == 0) real = result_.rows.back().at("mean").get<double>();
    }
    const auto& control = shared_.options.control;
    if (std::find(control.begin(), control.end(), ProbeControl::kRandomFeatures) == control.end()) {
      return;
    }
    ProbeData random{random_rows(), task_.classes, task_.num_classes, data.groups};
    add_converged(name_of(ProbeControl::kRandomFeatures),
                  cross_validate(random, task_.folds, options, context_.pool, context_.stop), real);
  }

  void measure_lime_code() {
    std::optional<double> real = add_lime_code("words", rows_, task_.classes, std::nullopt);
    for (const ProbeControl control : shared_.options.control) {
      const bool random = control == ProbeControl::kRandomFeatures;
      add_lime_code(name_of(control), random ? random_rows() : rows_,
                    control_labels(task_, control, shared_.seed), real);
    }
  }

  double add_lime_code(const std::string& labels, const MatrixF& rows,
                       const std::vector<int>& classes, std::optional<double> real) {
    const std::vector<AdamProbeFold> folds =
        cross_validate_adam({rows, classes, task_.num_classes}, task_.lime_code_folds,
                            {.seed = shared_.seed}, context_.pool, context_.stop);
    std::vector<double> accuracies;
    for (const AdamProbeFold& fold : folds) accuracies.push_back(fold.accuracy);
    Json row = first_columns("lime-code", labels, accuracies);
    const double mean = row.at("mean").get<double>();
    if (real) row["selectivity"] = *real - mean;
    row["train_accuracy"] =
        mean_over(folds, [](const AdamProbeFold& f) { return f.train_accuracy; });
    row["row_accuracy"] = mean_over(folds, [](const AdamProbeFold& f) { return f.row_accuracy; });
    add(std::move(row), accuracies);
    return mean;
  }

  const Shared& shared_;
  const Task& task_;
  MatrixF rows_;
  MatrixF random_;
  const UnitContext& context_;
  UnitResult result_;
};

std::int64_t bytes_of_layer(const Task& task, const SeparabilityOptions& options,
                            std::int64_t dim) {
  const std::int64_t values = task.rows.size() * dim;
  // Rows, their panel and random features in float32; Gram matrix, inverse and its panel; steps of
  // L-BFGS and scores of the fits that run side by side.
  const auto labellings = static_cast<std::int64_t>(1 + options.control.size());
  const std::int64_t columns =
      std::min<std::int64_t>(128, options.folds * task.num_classes * labellings);
  return values * 12 + dim * dim * 12 + columns * (dim * 8 * 26 + task.rows.size() * 8 * 5) +
         (std::int64_t{16} << 20);
}

}  // namespace

void SeparabilityOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("words", words, "only these words of those that were captured, e.g. ' is, are'");
  list.add("max_per_class", max_per_class, "only the first rows of each word");
  list.group("Probe");
  list.add("method", method,
           "to the optimum; one epoch of Adam as the paper's code does it; or both");
  probe.describe(list);
  list.group("Folds and controls");
  list.add("folds", folds, "folds of the cross-validation, >= 2");
  list.add("random_state", random_state, "numpy's random_state of the folds, as in scikit-learn");
  list.add("group", group, "keep the rows of one sequence in one fold (converged only)");
  list.add("control", control,
           "what else to fit: labels shuffled, drawn per token or per sequence (control tasks), or "
           "random features");
}

void SeparabilityOptions::validate() const {
  captures.validate();
  probe.validate();
  if (folds < 2) throw InvalidArgument("folds: must be >= 2, got {}", folds);
  if (max_per_class && *max_per_class < 1) {
    throw InvalidArgument("max_per_class: must be > 0, got {}", *max_per_class);
  }
  if (random_state >= std::uint64_t{1} << 32) {
    throw InvalidArgument("random_state: must be < 2^32, got {}", random_state);
  }
  for (std::size_t i = 0; i < control.size(); ++i) {
    if (std::find(control.begin(), control.begin() + static_cast<std::ptrdiff_t>(i), control[i]) !=
        control.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw InvalidArgument("control: '{}' is named twice", enum_name(control[i]));
    }
  }
}

Analysis prepare_separability(const SeparabilityOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    shared->tasks.push_back(make_task(capture.reader, options));
  }
  Analysis analysis;
  analysis.metric = "separability";
  analysis.options = stored_options(options);
  analysis.inputs = capture_inputs(shared->captures);
  for (std::size_t i = 0; i < shared->captures.size(); ++i) {
    const ChosenCapture& capture = shared->captures[i];
    for (const auto& [site, layers] : capture.parts) {
      for (const int layer : layers) {
        Unit unit = layer_unit(capture, site, layer);
        unit.identity = shared->tasks[i].identity;
        unit.bytes = bytes_of_layer(shared->tasks[i], options, capture.reader.dim(site, layer));
        unit.measure = [shared, i, site = site, layer](const UnitContext& context) {
          MatrixF rows =
              read_class_rows(shared->captures[i].reader, site, layer, shared->tasks[i].rows);
          return LayerProbe(*shared, shared->tasks[i], std::move(rows), context).measure();
        };
        analysis.units.push_back(std::move(unit));
      }
    }
  }
  // A thread per layer wastes none where there are layers enough.
  const bool many = analysis.units.size() >= static_cast<std::size_t>(run.num_threads());
  analysis.threads = many ? UnitThreads::kAcross : UnitThreads::kInside;
  analysis.present = [shared](Results results, std::span<const UnitResult>) {
    std::vector<ClassRows> chosen;
    for (const Task& task : shared->tasks) chosen.push_back(task.rows);
    return make_separability_report(std::move(results), shared->captures, chosen, shared->options);
  };
  return analysis;
}

}  // namespace lime

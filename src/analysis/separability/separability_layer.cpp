// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/random.h"
#include "metrics/probes/controls.h"
#include "metrics/summary.h"

namespace lime {
namespace {

/// Stream of Random for features; the controls' labels have smaller ones.
constexpr std::uint64_t kFeatureStream = 4;

bool asks_for(const SeparabilityOptions& options, SeparabilityMethod method) {
  return options.method == method || options.method == SeparabilityMethod::kBoth;
}

bool wants_random_features(const SeparabilityOptions& options) {
  return std::find(options.control.begin(), options.control.end(), ProbeControl::kRandomFeatures) !=
         options.control.end();
}

template <typename Fold, typename Value>
double mean_over(const std::vector<Fold>& folds, Value Fold::*value) {
  double sum = 0.0;
  for (const Fold& fold : folds) sum += static_cast<double>(fold.*value);
  return sum / static_cast<double>(folds.size());
}

/// Collects the rows of one site and layer.
class LayerRows {
 public:
  LayerRows(const SeparabilityTask& task, Eigen::Index dim) : task_(task), dim_(dim) {}

  void add_converged(const std::string& labels, const ProbeResult& probe) {
    const std::vector<ProbeFold>& folds = probe.folds;
    ResultRow row = begin_row("converged", labels, probe.accuracies());
    std::vector<double> log_losses;
    for (const ProbeFold& fold : folds) log_losses.push_back(fold.log_loss);
    row.add({{col::kLogLoss, mean_over(folds, &ProbeFold::log_loss)},
             {col::kTrainAccuracy, mean_over(folds, &ProbeFold::train_accuracy)},
             {col::kMajority, mean_over(folds, &ProbeFold::majority_accuracy)},
             {col::kC, mean_over(folds, &ProbeFold::c)},
             {col::kGradientNorm, probe.largest_gradient_norm()},
             {col::kIterations, mean_over(folds, &ProbeFold::iterations)},
             {col::kConverged, probe.converged()},
             {col::kConfusion, probe.confusion()},
             {col::kFoldLogLosses, log_losses}});
    end_row(std::move(row), probe.accuracies());
  }

  void add_lime_code(const std::string& labels, const std::vector<AdamProbeFold>& folds) {
    std::vector<double> accuracies;
    for (const AdamProbeFold& fold : folds) accuracies.push_back(fold.accuracy);
    ResultRow row = begin_row("lime-code", labels, accuracies);
    row.set(col::kTrainAccuracy, mean_over(folds, &AdamProbeFold::train_accuracy));
    row.set(col::kRowAccuracy, mean_over(folds, &AdamProbeFold::row_accuracy));
    end_row(std::move(row), accuracies);
  }

  UnitResult take() { return std::move(result_); }

 private:
  /// Returns the first columns of a row. The first row of a method is that of the words, with which
  /// the others are compared.
  ResultRow begin_row(const std::string& method, const std::string& labels,
                      const std::vector<double>& accuracies) {
    const Summary summary = summarize(accuracies, {.resamples = 0});
    ResultRow row = {{col::kMethod, method},
                     {col::kLabels, labels},
                     {col::kMean, summary.mean},
                     {col::kStd, summary.std},
                     {col::kN, summary.n}};
    if (method != method_) {
      method_ = method;
      accuracy_of_words_ = summary.mean;
    } else {
      row.set(col::kSelectivity, accuracy_of_words_ - summary.mean);
    }
    return row;
  }

  void end_row(ResultRow row, const std::vector<double>& accuracies) {
    row.add({{col::kFoldAccuracies, accuracies},
             {col::kRows, task_.rows.size()},
             {col::kClasses, task_.num_classes},
             {col::kDim, dim_}});
    result_.samples.push_back(
        {.key = {{col::kMethod, row.text(col::kMethod)}, {col::kLabels, row.text(col::kLabels)}},
         .quantity = "accuracy",
         .items = "folds",
         .values = accuracies});
    result_.rows.push_back(std::move(row));
  }

  const SeparabilityTask& task_;
  const Eigen::Index dim_;
  std::string method_;
  double accuracy_of_words_ = 0.0;
  UnitResult result_;
};

}  // namespace

UnitResult probe_layer(const SeparabilityTask& task, const SeparabilityOptions& options,
                       std::uint64_t seed, const MatrixF& rows, const UnitContext& context) {
  const std::vector<Labelling> labellings = labellings_of(task, options, seed);
  const std::string random_name(enum_name(ProbeControl::kRandomFeatures));
  MatrixF random;
  if (wants_random_features(options)) {
    random = random_features(rows.rows(), rows.cols(), Random(seed).fork(kFeatureStream)());
  }
  LayerRows result(task, rows.cols());
  if (asks_for(options, SeparabilityMethod::kConverged)) {
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
  if (asks_for(options, SeparabilityMethod::kLimeCode)) {
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

std::int64_t bytes_of_layer(const SeparabilityTask& task, const SeparabilityOptions& options,
                            std::int64_t dim) {
  constexpr std::int64_t kSmallThings = std::int64_t{16} << 20;
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t num_rows = task.rows.size();
  const std::int64_t matrices = wants_random_features(options) ? 2 : 1;
  std::int64_t beside = kClassReadRows * dim * kFloat;
  if (asks_for(options, SeparabilityMethod::kConverged)) {
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

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "metrics/probes/folds.h"
#include "metrics/probes/logistic_regression.h"

namespace lime {

struct ProbeOptions {
  LogisticOptions fit;
  /// Inverse strengths of the penalty, each > 0. If several, each fold selects the one with the
  /// best mean accuracy (ties: the smallest) in an inner cross-validation over its training rows.
  std::vector<double> c = {1.0};
  /// Folds of that inner cross-validation, >= 2: stratified, or grouped if groups are given.
  int inner_folds = 3;
  /// Seed of the inner folds, < 2^32.
  std::uint64_t seed = 0;

  void describe(OptionList& list);
  void validate() const;
};

/// Rows with the labels of a probe. Refers to memory of the caller.
struct ProbeData {
  ConstMatrixRef rows;           ///< [num_rows, dim]
  std::span<const int> classes;  ///< [num_rows], in [0, num_classes)
  int num_classes = 2;
  std::span<const int> groups = {};  ///< [num_rows] for the inner folds; empty: none
};

struct ProbeFold : FitStatus {
  std::int64_t num_train = 0;
  std::int64_t num_test = 0;
  double accuracy = 0.0;        ///< fraction of test rows whose most likely class is correct
  double log_loss = 0.0;        ///< mean of -ln p(class) over the test rows, nats; p >= 2^-52
  double train_accuracy = 0.0;  ///< fraction of the training rows, likewise
  Eigen::MatrixXi confusion;    ///< test rows, [true class, predicted class]
  /// Accuracy of the majority baseline: always predicting the most frequent training class.
  double majority_accuracy = 0.0;
  double c = 1.0;
};

struct ProbeRun {
  ThreadPool& pool;
  std::stop_token stop = {};
};

struct ProbeResult {
  std::vector<ProbeFold> folds;
  std::vector<int> predictions;  ///< [num_rows], each from the fold that tests it
  MatrixF log_probabilities;     ///< [num_rows, num_classes], nats, from the same folds

  std::vector<double> accuracies() const;
  Eigen::MatrixXi confusion() const;
  double largest_gradient_norm() const;
  bool converged() const;
};

/// Cross-validates a linear probe: how linearly decodable is a class from the rows?
///
/// @param data     at least one training row in every fold.
/// @param pool     results are bit-identical for any number of threads.
/// @throws InvalidArgument, Interrupted  as fit_logistic.
/// Source: Alain & Bengio (2016), arXiv:1610.01644.
ProbeResult cross_validate(const ProbeData& data, const Folds& folds, const ProbeOptions& options,
                           ThreadPool& pool, const std::stop_token& stop = {});

struct ProbeSize {
  std::int64_t num_rows = 0;
  std::int64_t dim = 0;
  int num_classes = 2;
  int num_labellings = 1;
  int num_folds = 5;
};

/// Returns the peak memory of cross_validate_labels() in bytes, without the rows of `data`: 4 per
/// value of the rows, 4 per pair of dimensions for each Gram matrix and inverse (one of each, and
/// one more inverse for every further C), and the L-BFGS steps of concurrent fits.
std::int64_t bytes_of_cross_validation(const ProbeSize& size, const ProbeOptions& options);

/// Cross-validates several labellings of the same rows and folds at once (the original classes and
/// controls): much cheaper than separately. The classes of `data` are ignored.
std::vector<ProbeResult> cross_validate_labels(const ProbeData& data,
                                               std::span<const std::vector<int>> labels,
                                               const Folds& folds, const ProbeOptions& options,
                                               const ProbeRun& run);

/// Shuffles the labels: a chance-level baseline with the same number of rows of each class.
std::vector<int> shuffled_labels(std::span<const int> classes, std::uint64_t seed);

/// Creates the labels of a control task: every type of row (word, document) gets one class at
/// random, drawn with the class frequencies of the rows. A probe can only memorise such labels;
/// accuracy on the task minus accuracy on the control task is its selectivity.
///
/// @param types    [num_rows] any integers; rows of equal type get equal labels.
/// @param classes  [num_rows] the labels of the original task.
/// @throws InvalidArgument  if the sizes differ.
/// Source: Hewitt & Liang (2019), arXiv:1909.03368, section 2.
std::vector<int> control_task_labels(std::span<const int> types, std::span<const int> classes,
                                     std::uint64_t seed);

/// Returns true if classes and types correspond: the control task would only relabel the task.
bool types_are_classes(std::span<const int> types, std::span<const int> classes);

/// Returns standard normal rows, [num_rows, dim]: uninformative features of the same capacity.
MatrixF random_features(Eigen::Index num_rows, Eigen::Index dim, std::uint64_t seed);

}  // namespace lime

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

/// How a linear probe is fitted in each fold.
struct ProbeOptions {
  LogisticOptions fit;
  /// Inverse strengths of the penalty, each > 0. Several: each fold takes the one with the best
  /// mean accuracy (at a tie the smallest) of an inner cross-validation over its training rows.
  std::vector<double> c = {1.0};
  /// Folds of that inner cross-validation, >= 2: stratified, or grouped where groups are given.
  int inner_folds = 3;
  /// Seed of the inner folds, < 2^32.
  std::uint64_t seed = 0;

  void describe(OptionList& list);
  void validate() const;
};

/// Rows with what a probe is to tell from them. Refers to memory of the caller.
struct ProbeData {
  ConstMatrixRef rows;           ///< [num_rows, dim]
  std::span<const int> classes;  ///< [num_rows], in [0, num_classes)
  int num_classes = 2;
  std::span<const int> groups = {};  ///< [num_rows] for the inner folds; empty: none
};

/// What came out of one fold.
struct ProbeFold {
  std::int64_t num_train = 0;
  std::int64_t num_test = 0;
  double accuracy = 0.0;        ///< share of the test rows whose class has the largest probability
  double log_loss = 0.0;        ///< mean of -ln p(class) over the test rows, nats; p >= 2^-52
  double train_accuracy = 0.0;  ///< the same share of the training rows
  Eigen::MatrixXi confusion;    ///< test rows, [true class, predicted class]
  /// Accuracy of always naming the class that most training rows have.
  double majority_accuracy = 0.0;
  double c = 1.0;
  double objective = 0.0;
  double gradient_norm = 0.0;
  int iterations = 0;
  bool converged = true;
  std::vector<int> missing_classes;  ///< without a training row, so never predicted
};

/// The threads of a call, and who may end it.
struct ProbeRun {
  ThreadPool& pool;
  std::stop_token stop = {};
};

/// A cross-validated probe.
struct ProbeResult {
  std::vector<ProbeFold> folds;
  std::vector<int> predictions;  ///< [num_rows], each by the fold that did not train on it
  MatrixF log_probabilities;     ///< [num_rows, num_classes], nats, by the same folds

  /// Accuracies of the folds, for means, deviations and comparisons.
  std::vector<double> accuracies() const;
  /// Sum of the folds' confusion matrices.
  Eigen::MatrixXi confusion() const;
  double largest_gradient_norm() const;
  bool converged() const;
};

/// Cross-validates a linear probe: how well can a class be read off the rows by a linear map?
///
/// @param data     at least one training row in every fold.
/// @param pool     results have the same bits for any number of threads.
/// @throws InvalidArgument, Interrupted  as fit_logistic.
/// Source: Alain & Bengio (2016), arXiv:1610.01644.
ProbeResult cross_validate(const ProbeData& data, const Folds& folds, const ProbeOptions& options,
                           ThreadPool& pool, const std::stop_token& stop = {});

/// How large a cross-validation is.
struct ProbeSize {
  std::int64_t num_rows = 0;
  std::int64_t dim = 0;
  int num_classes = 2;
  int num_labellings = 1;
  int num_folds = 5;
};

/// Bytes that cross_validate_labels() needs at its peak, the rows of `data` not counted: 4 per
/// value of the rows, 4 per pair of dimensions for each Gram matrix and inverse (one of each, and
/// an inverse more for every further C), and the steps of L-BFGS of the fits that run side by side.
std::int64_t bytes_of_cross_validation(const ProbeSize& size, const ProbeOptions& options);

/// Cross-validates several labellings of the same rows and folds in one go (the real classes and
/// controls): much cheaper than one after the other. All of `labels` have the rows of `data`, whose
/// own classes are not used.
std::vector<ProbeResult> cross_validate_labels(const ProbeData& data,
                                               std::span<const std::vector<int>> labels,
                                               const Folds& folds, const ProbeOptions& options,
                                               const ProbeRun& run);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"

namespace lime {

class ThreadPool;

/// Preprocessing of features before the fit.
enum class FeatureScaling {
  kNone,         ///< none
  kStandardize,  ///< minus mean, divided by standard deviation (ddof 0), both of the training rows
};

constexpr auto names_of(FeatureScaling) {
  using enum FeatureScaling;
  return enum_table<FeatureScaling>({{kNone, "none"}, {kStandardize, "standardize"}});
}

struct LogisticOptions {
  /// scikit-learn's StandardScaler or nothing; constant features get coefficient 0.
  FeatureScaling scaling = FeatureScaling::kStandardize;
  /// Convergence threshold of the largest element of the gradient of mean loss + ||w||^2 / (2 C n),
  /// > 0: the quantity that scikit-learn's `tol` bounds, with default 1e-4.
  double tolerance = 1e-7;
  /// Maximum number of iterations, > 0; a fit that needs more is reported as not converged.
  int max_iterations = 1000;

  void validate() const;
};

/// One regression over the rows shared by all tasks of a call.
struct LogisticTask {
  std::span<const int> classes;         ///< [num_rows] class of each row, in [0, num_classes)
  std::span<const std::uint8_t> train;  ///< [num_rows] 1 for training rows; empty: all rows
  int num_classes = 2;
  /// Inverse strength of the penalty, > 0 and finite.
  double c = 1.0;
};

/// How a fit ended.
struct FitStatus {
  /// C * sum of -log p(class) over the training rows + ||w||^2 / 2, in double.
  double objective = 0.0;
  /// Largest element of the gradient in the units of LogisticOptions::tolerance.
  double gradient_norm = 0.0;
  int iterations = 0;
  bool converged = true;
  std::vector<int> missing_classes;  ///< classes without a training row, ascending: never predicted
};

/// A fitted regression and its scores of every row, including test rows.
struct LogisticFit : FitStatus {
  /// Weights of the scaled features, [num_scores, dim]: num_scores is num_classes, or 1 for two
  /// classes, with the score of class 1. Classes without a training row have weight 0.
  MatrixD coefficients;
  VectorD intercepts;  ///< [num_scores], not penalised; -infinity for classes without training rows
  VectorD mean;        ///< [dim], subtracted before scaling; 0 without scaling
  VectorD scale;       ///< [dim], divisor; 1 without scaling
  /// Log-probabilities of all rows, including test rows, [num_rows, num_classes].
  MatrixD log_probabilities;
};

/// Fits L2-penalised logistic regressions to their optimum: scikit-learn's LogisticRegression.
///
///   min over W, b of  C * sum_i -log softmax(W z_i + b)[class_i] + ||W||^2 / 2
///
/// with one sigmoid instead of the softmax for two classes; the intercept b is not penalised. All
/// tasks share one loop, whose products with the rows serve every task at once.
///
/// L-BFGS (Nocedal 1980) on the rows, preconditioned by the Cholesky factor of a bound of the
/// Hessian, first with float32 products, then with float64 ones until the gradient is small.
/// docs/numerics.md, "Probes", documents the agreement with scikit-learn.
///
/// Degenerate tasks: a class without training rows is never predicted; with a single class, or row,
/// for training, that class has probability 1 and weights are 0; constant features have weight 0,
/// duplicate features share their weight equally, as the penalty implies.
///
/// @param rows   [num_rows, dim], finite.
/// @param pool   threads for this call; results are bit-identical for any number of them.
/// @return one fit per task, in their order.
/// @throws InvalidArgument  if a value of `rows` is not finite (names the first), a class is out of
///         range, a task has no training row, or an option is invalid.
/// @throws Interrupted      if a stop is requested.
std::vector<LogisticFit> fit_logistic(const ConstMatrixRef& rows,
                                      std::span<const LogisticTask> tasks,
                                      const LogisticOptions& options, ThreadPool& pool,
                                      const std::stop_token& stop = {});

}  // namespace lime

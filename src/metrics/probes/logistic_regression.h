// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"

namespace lime {

class ThreadPool;

/// What is done to features before they are fitted.
enum class FeatureScaling {
  kNone,         ///< as they are
  kStandardize,  ///< minus mean, divided by standard deviation (ddof 0), both of the training rows
};

template <>
struct EnumNames<FeatureScaling> {
  static constexpr std::array<std::pair<FeatureScaling, std::string_view>, 2> kNames = {
      {{FeatureScaling::kNone, "none"}, {FeatureScaling::kStandardize, "standardize"}}};
};

struct LogisticOptions {
  /// scikit-learn's StandardScaler or nothing. Constant features keep scale 1 and get coefficient
  /// 0.
  FeatureScaling scaling = FeatureScaling::kStandardize;
  /// Largest element of the gradient of mean loss + ||w||^2 / (2 C n) at which a fit ends, > 0:
  /// what scikit-learn's `tol` bounds, whose default is 1e-4.
  double tolerance = 1e-7;
  /// Iterations at most, > 0; a fit that needs more says that it did not converge.
  int max_iterations = 1000;

  void validate() const;
};

/// One regression over the rows that all tasks of a call share.
struct LogisticTask {
  std::span<const int> classes;         ///< [num_rows] class of each row, in [0, num_classes)
  std::span<const std::uint8_t> train;  ///< [num_rows] 1 where a row is fitted; empty: all rows
  int num_classes = 2;
  /// Inverse strength of the penalty, > 0 and finite.
  double c = 1.0;
};

/// A fitted regression and its scores of every row, fitted or not.
struct LogisticFit {
  /// Weights of the scaled features, [num_scores, dim]: num_scores is num_classes, or 1 for two
  /// classes, where the score is that of class 1. Classes without a training row have weight 0.
  MatrixD coefficients;
  VectorD intercepts;  ///< [num_scores], not penalised; -infinity for classes without training rows
  VectorD mean;        ///< [dim], subtracted before scaling; 0 without scaling
  VectorD scale;       ///< [dim], divided by; 1 without scaling
  /// Log-probabilities of all rows, training or not, [num_rows, num_classes].
  MatrixD log_probabilities;
  /// C * sum of -log p(class) over the training rows + ||w||^2 / 2, in double.
  double objective = 0.0;
  /// Largest element of the gradient in the units of LogisticOptions::tolerance.
  double gradient_norm = 0.0;
  int iterations = 0;
  bool converged = true;
  std::vector<int> missing_classes;  ///< those without a training row, ascending
};

/// Fits logistic regressions with an L2 penalty to their optimum: scikit-learn's
/// LogisticRegression.
///
///   min over W, b of  C * sum_i -log softmax(W z_i + b)[class_i] + ||W||^2 / 2
///
/// with one sigmoid in place of the softmax for two classes; the intercept b is not penalised. All
/// tasks go through one loop whose products with the rows serve every task at once.
///
/// L-BFGS (Nocedal 1980) on the rows' inner products whitened by the Cholesky factor of a bound of
/// the Hessian, first with float32 products, then with float64 ones until the gradient is small.
/// docs/numerics.md, "Probes", says how closely it agrees with scikit-learn.
///
/// Degenerate tasks: a class without training rows is never predicted; with one class in the
/// training rows, or one row, the answer is that class with probability 1 and weights 0; constant
/// features have weight 0, duplicated ones share theirs equally, as the penalty has it.
///
/// @param rows   [num_rows, dim], finite.
/// @param pool   threads for this call; results have the same bits for any number of them.
/// @return one fit per task, in their order.
/// @throws InvalidArgument  if a value of `rows` is not finite (names the first place), a class is
///                          out of range, a task has no training row, or an option is unfit.
/// @throws Interrupted      when asked to stop.
std::vector<LogisticFit> fit_logistic(const ConstMatrixRef& rows,
                                      std::span<const LogisticTask> tasks,
                                      const LogisticOptions& options, ThreadPool& pool,
                                      const std::stop_token& stop = {});

/// Log-probabilities of `rows` under a fit of `num_classes` classes, [num_rows, num_classes].
MatrixD predict_log_probabilities(const LogisticFit& fit, const ConstMatrixRef& rows,
                                  int num_classes);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/logistic_regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "metrics/probes/regression_batch.h"
#include "metrics/probes/softmax_loss.h"
#include "metrics/rows.h"

namespace lime {
namespace {

using probes::Columns;
using probes::PanelMatrix;
using probes::RegressionProblem;
using probes::RegressionSolution;
using probes::TrainingPart;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require_finite(const ConstMatrixRef& rows) {
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    if (rows.row(r).allFinite()) continue;
    Eigen::Index c = 0;
    while (std::isfinite(rows(r, c))) ++c;
    throw InvalidArgument("probe: values must be finite, got {} at row {}, column {}", rows(r, c),
                          r, c);
  }
}

void check_task(const LogisticTask& task, Eigen::Index num_rows) {
  const auto expected = static_cast<std::size_t>(num_rows);
  throw_if(task.classes.size() != expected, "probe: needs a class for each of {} rows, got {}",
           num_rows, task.classes.size());
  throw_if(!task.train.empty() && task.train.size() != expected,
           "probe: needs a training flag for each of {} rows, got {}", num_rows, task.train.size());
  throw_if(task.num_classes < 2, "probe: needs at least 2 classes, got {}", task.num_classes);
  check_option(task.c > 0.0 && std::isfinite(task.c), "c", "> 0 and finite", task.c);
  for (std::size_t i = 0; i < expected; ++i) {
    throw_if(task.classes[i] < 0 || task.classes[i] >= task.num_classes,
             "probe: classes must be in [0, {}), got {} at row {}", task.num_classes,
             task.classes[i], i);
  }
}

bool trains(const LogisticTask& task, std::size_t row) {
  return task.train.empty() || task.train[row] != 0;
}

/// Returns the column means rounded to float32 if they exceed 4 standard deviations, else 0.
/// Differences of values within a factor of 2 are exact (Sterbenz).
std::vector<float> column_shifts(const ConstMatrixRef& rows, ThreadPool& pool) {
  constexpr Eigen::Index kCols = 64;
  std::vector<float> shifts(static_cast<std::size_t>(rows.cols()));
  for_blocks(rows.cols(), kCols, pool, [&](Eigen::Index first, Eigen::Index last) {
    const Eigen::Index count = last - first;
    using Sums = Eigen::Array<double, 1, Eigen::Dynamic>;
    Sums sum = Sums::Zero(count);
    Sums squares = Sums::Zero(count);
    const Sums origin = rows.row(0).segment(first, count).cast<double>();
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      const Sums value = rows.row(r).segment(first, count).cast<double>().array() - origin;
      sum += value;
      squares += value.square();
    }
    const auto n = static_cast<double>(rows.rows());
    const Sums mean = origin + sum / n;
    const Sums variance = (squares / n - (sum / n).square()).max(0.0);
    for (Eigen::Index c = 0; c < count; ++c) {
      const bool far = mean[c] * mean[c] > 16.0 * variance[c];
      shifts[static_cast<std::size_t>(first + c)] = far ? static_cast<float>(mean[c]) : 0.0F;
    }
  });
  return shifts;
}

/// Packed rows of all tasks of a call, with the properties of each distinct set of training rows.
class SharedRows {
 public:
  /// Columns with a large mean are shifted by it, to keep float32 products accurate.
  /// @throws InvalidArgument  if a task has no training row.
  SharedRows(const ConstMatrixRef& rows, std::span<const LogisticTask> tasks,
             FeatureScaling scaling, ThreadPool& pool)
      : shifts_(column_shifts(rows, pool)) {
    panel_.pack(rows, shifts_, pool);
    std::map<std::vector<std::uint8_t>, std::size_t> known;
    for (const LogisticTask& task : tasks) {
      const auto [place, is_new] =
          known.emplace(std::vector(task.train.begin(), task.train.end()), parts_.size());
      part_of_task_.push_back(place->second);
      if (is_new) parts_.push_back(part_of(task));
    }
    measure_parts(scaling, pool);
  }

  const PanelMatrix& panel() const { return panel_; }
  const TrainingPart& part(std::size_t task) const { return parts_[part_of_task_[task]]; }
  /// Returns the mean of the training rows of a task, [dim]; not shifted.
  VectorD mean(std::size_t task) const {
    const Eigen::Map<const Eigen::VectorXf> shifts(shifts_.data(), panel_.cols());
    return part(task).mean + shifts.cast<double>();
  }

 private:
  static TrainingPart part_of(const LogisticTask& task) {
    TrainingPart part;
    for (std::size_t i = 0; i < task.classes.size(); ++i) {
      part.weight.push_back(trains(task, i) ? 1.0 : 0.0);
      part.num_rows += trains(task, i) ? 1 : 0;
    }
    if (part.num_rows == 0) throw InvalidArgument("probe: a fold has no training rows");
    return part;
  }

  void measure_parts(FeatureScaling scaling, ThreadPool& pool) {
    Columns<double> weights, sums, squares;
    weights.resize(static_cast<std::int64_t>(parts_.size()), panel_.padded_rows());
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      std::copy(parts_[p].weight.begin(), parts_[p].weight.end(),
                weights.column(static_cast<std::int64_t>(p)));
    }
    panel_.multiply_transposed(weights, sums, pool);
    const bool standardize = scaling == FeatureScaling::kStandardize;
    if (standardize) panel_.multiply_transposed<true>(weights, squares, pool);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      TrainingPart& part = parts_[p];
      const auto n = static_cast<double>(part.num_rows);
      const auto column = static_cast<std::int64_t>(p);
      part.mean = sums.array(column).head(panel_.cols()).matrix() / n;
      part.scale = VectorD::Ones(panel_.cols());
      if (!standardize) continue;
      for (Eigen::Index j = 0; j < panel_.cols(); ++j) {
        const double square = squares.column(column)[j] / n;
        const double variance = square - part.mean[j] * part.mean[j];
        // The variance of a constant feature is the rounding error of two sums.
        const double rounding = n * std::numeric_limits<double>::epsilon() * square;
        if (variance > rounding) part.scale[j] = std::sqrt(variance);
      }
    }
  }

  std::vector<float> shifts_;  // [dim]
  PanelMatrix panel_;
  std::vector<TrainingPart> parts_;
  std::vector<std::size_t> part_of_task_;
};

std::vector<int> present_classes(const LogisticTask& task) {
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(task.num_classes), 0);
  for (std::size_t i = 0; i < task.classes.size(); ++i) {
    if (trains(task, i)) seen[static_cast<std::size_t>(task.classes[i])] = 1;
  }
  std::vector<int> present;
  for (int k = 0; k < task.num_classes; ++k) {
    if (seen[static_cast<std::size_t>(k)] != 0) present.push_back(k);
  }
  return present;
}

/// Returns the fit for training rows of a single class: that class.
LogisticFit constant_fit(const LogisticTask& task, int only, Eigen::Index num_rows,
                         Eigen::Index dim) {
  LogisticFit fit;
  const int num_scores = task.num_classes == 2 ? 1 : task.num_classes;
  fit.coefficients = MatrixD::Zero(num_scores, dim);
  fit.intercepts = VectorD::Constant(num_scores, -kInfinity);
  if (num_scores == 1) {
    fit.intercepts[0] = only == 1 ? kInfinity : -kInfinity;
  } else {
    fit.intercepts[only] = 0.0;
  }
  fit.log_probabilities = MatrixD::Constant(num_rows, task.num_classes, -kInfinity);
  fit.log_probabilities.col(only).setZero();
  return fit;
}

/// Extends `solution`, which covers only the classes `present`, to all classes of the task.
LogisticFit fit_of(const RegressionSolution& solution, const LogisticTask& task,
                   const std::vector<int>& present, double tolerance) {
  const Eigen::Index dim = solution.weights.cols();
  const Eigen::Index num_rows = solution.scores.cols();
  LogisticFit fit;
  static_cast<FitStatus&>(fit) = solution;
  fit.converged = solution.gradient_norm <= tolerance;
  if (task.num_classes == 2) {
    fit.coefficients = solution.weights;
    fit.intercepts = solution.intercepts;
  } else {
    fit.coefficients = MatrixD::Zero(task.num_classes, dim);
    fit.intercepts = VectorD::Constant(task.num_classes, -kInfinity);
    // The score s of two classes corresponds to the softmax of -s / 2 and s / 2.
    const bool two = present.size() == 2;
    for (std::size_t k = 0; k < present.size(); ++k) {
      const auto row = static_cast<Eigen::Index>(two ? 0 : k);
      const double factor = two ? (k == 0 ? -0.5 : 0.5) : 1.0;
      fit.coefficients.row(present[k]) = factor * solution.weights.row(row);
      fit.intercepts[present[k]] = factor * solution.intercepts[row];
    }
  }
  fit.log_probabilities = MatrixD::Constant(num_rows, task.num_classes, -kInfinity);
  std::vector<double> scores(static_cast<std::size_t>(solution.scores.rows()));
  std::vector<double> out(present.size());
  for (Eigen::Index i = 0; i < num_rows; ++i) {
    for (std::size_t k = 0; k < scores.size(); ++k) {
      scores[k] = solution.scores(static_cast<Eigen::Index>(k), i);
    }
    probes::log_probabilities(scores, out);
    for (std::size_t k = 0; k < present.size(); ++k) fit.log_probabilities(i, present[k]) = out[k];
  }
  return fit;
}

void add_missing(LogisticFit& fit, const std::vector<int>& present, int num_classes) {
  for (int k = 0; k < num_classes; ++k) {
    if (!std::ranges::binary_search(present, k)) fit.missing_classes.push_back(k);
  }
}

}  // namespace

void LogisticOptions::validate() const {
  check_option(tolerance > 0.0 && std::isfinite(tolerance), "tolerance", "> 0 and finite",
               tolerance);
  check_option(max_iterations >= 1, "max_iterations", "> 0", max_iterations);
}

std::vector<LogisticFit> fit_logistic(const ConstMatrixRef& rows,
                                      std::span<const LogisticTask> tasks,
                                      const LogisticOptions& options, ThreadPool& pool,
                                      const std::stop_token& stop) {
  options.validate();
  throw_if(rows.rows() < 1 || rows.cols() < 1, "probe: needs rows and columns, got {} x {}",
           rows.rows(), rows.cols());
  require_finite(rows);
  for (const LogisticTask& task : tasks) check_task(task, rows.rows());
  if (tasks.empty()) return {};
  const SharedRows shared(rows, tasks, options.scaling, pool);

  std::vector<std::vector<int>> present;
  std::vector<RegressionProblem> problems;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    present.push_back(present_classes(tasks[t]));
    if (present[t].size() < 2) continue;
    std::vector<int> index_of(static_cast<std::size_t>(tasks[t].num_classes), -1);
    for (std::size_t k = 0; k < present[t].size(); ++k) {
      index_of[static_cast<std::size_t>(present[t][k])] = static_cast<int>(k);
    }
    RegressionProblem problem;
    for (const int k : tasks[t].classes) {
      problem.classes.push_back(index_of[static_cast<std::size_t>(k)]);
    }
    problem.num_scores = present[t].size() == 2 ? 1 : static_cast<int>(present[t].size());
    problem.part = &shared.part(t);
    problem.c = tasks[t].c;
    problems.push_back(std::move(problem));
  }
  const std::vector<RegressionSolution> solutions =
      probes::solve_regressions(shared.panel(), problems, options, pool, stop);

  std::vector<LogisticFit> fits;
  auto solution = solutions.begin();
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    fits.push_back(present[t].size() < 2
                       ? constant_fit(tasks[t], present[t][0], rows.rows(), rows.cols())
                       : fit_of(*solution++, tasks[t], present[t], options.tolerance));
    LogisticFit& fit = fits.back();
    add_missing(fit, present[t], tasks[t].num_classes);
    fit.scale = shared.part(t).scale;
    fit.mean = shared.mean(t);
    if (options.scaling == FeatureScaling::kNone) {
      fit.intercepts -= fit.coefficients * fit.mean;
      fit.mean.setZero();
    }
  }
  return fits;
}

}  // namespace lime

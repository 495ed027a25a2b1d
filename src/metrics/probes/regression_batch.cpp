// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/regression_batch.h"

#include <cmath>
#include <deque>
#include <limits>
#include <map>

#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"
#include "metrics/probes/preconditioner.h"
#include "metrics/probes/softmax_loss.h"

namespace lime::probes {
namespace {

constexpr std::size_t kMemory = 10;
/// Typical weight p (1 - p) of a row in the Hessian; affects only the number of iterations.
constexpr double kTypicalWeight = 0.1;
/// Gradient below which float64 products replace float32 ones.
constexpr double kFloatTolerance = 1e-6;
constexpr int kMaxTrials = 20;
constexpr std::int64_t kLossRows = 512;

/// Recent steps of a minimisation and the gradient changes over them: an approximate Hessian.
///
/// The search direction is -H g, where H = second_loop(H0 first_loop(g)) and H0 is the caller's
/// estimate.
/// Source: Nocedal (1980), Updating quasi-Newton matrices with limited storage, Math. Comp. 35.
class LbfgsMemory {
 public:
  explicit LbfgsMemory(std::size_t capacity) : capacity_(capacity) {}

  /// Stores a step and the change of the gradient over it; drops the oldest when full.
  void add(VectorD step, VectorD change) {
    const double curvature = step.dot(change);
    if (!(curvature > 1e-14 * step.norm() * change.norm())) return;
    if (pairs_.size() == capacity_) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(change), 1.0 / curvature, 0.0});
  }
  void first_loop(VectorD& vector) {
    for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) {
      pair->factor = pair->inverse_curvature * pair->step.dot(vector);
      vector -= pair->factor * pair->change;
    }
  }
  void second_loop(VectorD& vector) const {
    for (const Pair& pair : pairs_) {
      vector += (pair.factor - pair.inverse_curvature * pair.change.dot(vector)) * pair.step;
    }
  }
  void clear() { pairs_.clear(); }

 private:
  struct Pair {
    VectorD step;
    VectorD change;
    double inverse_curvature = 0.0;
    double factor = 0.0;
  };
  std::size_t capacity_;
  std::deque<Pair> pairs_;
};

/// Newton's method for the minimum of a convex function along a line, restricted to the bracket
/// given by the slopes of earlier trials. Starts with step 1, which quasi-Newton directions expect.
class LineSearch {
 public:
  LineSearch() = default;  ///< no search: step 0
  /// @param start_slope  slope at step 0, < 0
  explicit LineSearch(double start_slope) : start_slope_(start_slope), step_(1.0) {}

  double step() const { return step_; }
  /// Returns true if the slope at step() is sufficiently smaller than the start slope.
  bool accepts(double slope) const { return std::abs(slope) <= kSlopeShare * -start_slope_; }
  /// Moves to another step. @param slope, curvature  at step()
  void move(double slope, double curvature) {
    (slope > 0.0 ? high_ : low_) = step_;
    const double newton = step_ - slope / curvature;
    if (newton > low_ && newton < high_) {
      step_ = newton;
    } else {
      step_ = std::isfinite(high_) ? 0.5 * (low_ + high_) : 2.0 * step_;
    }
  }

 private:
  static constexpr double kSlopeShare = 0.3;
  double start_slope_ = 0.0;
  double step_ = 0.0;
  double low_ = 0.0;
  double high_ = std::numeric_limits<double>::infinity();
};

/// State of one problem. Vectors contain num_scores * dim weights, then num_scores intercepts.
struct Fit {
  const RegressionProblem* problem = nullptr;
  Preconditioner* preconditioner = nullptr;
  VectorD parameters, gradient, direction;
  std::vector<VectorD> scores;  ///< [num_scores][num_rows]
  LbfgsMemory memory{kMemory};
  std::int64_t first = 0;  ///< first column in the operands of this iteration
  double loss = 0.0;       ///< sum over the training rows
  double gradient_norm = 0.0;
  int iterations = 0;
  bool stalled = false;
  double start_slope = 0.0;  ///< of the objective along the direction, < 0
  LineSearch line;

  int num_scores() const { return problem->num_scores; }
  Eigen::Index num_weights() const { return parameters.size() - num_scores(); }
  double scale() const { return problem->c * static_cast<double>(problem->part->num_rows); }
};

class BatchSolver {
 public:
  BatchSolver(const PanelMatrix& panel, const std::vector<RegressionProblem>& problems,
              const LogisticOptions& options, ThreadPool& pool, const std::stop_token& stop)
      : panel_(panel), options_(options), pool_(pool), stop_(stop) {
    for (const RegressionProblem& problem : problems) {
      Fit fit;
      fit.problem = &problem;
      fit.parameters = VectorD::Zero(problem.num_scores * (panel.cols() + 1));
      fit.gradient = VectorD::Zero(fit.parameters.size());
      fit.direction = VectorD::Zero(fit.parameters.size());
      fit.scores.assign(static_cast<std::size_t>(problem.num_scores),
                        VectorD::Zero(panel.padded_rows()));
      fits_.push_back(std::move(fit));
    }
    make_preconditioners(problems);
  }

  void solve() {
    run<float>(std::max(options_.tolerance, kFloatTolerance));
    for (Fit& fit : fits_) fit.stalled = false;
    run<double>(options_.tolerance);
  }
  std::vector<RegressionSolution> solutions() const {
    const Eigen::Index dim = panel_.cols();
    const Eigen::Index rows = panel_.rows();
    std::vector<RegressionSolution> result;
    for (const Fit& fit : fits_) {
      RegressionSolution solution;
      solution.weights = Eigen::Map<const MatrixD>(fit.parameters.data(), fit.num_scores(), dim);
      solution.intercepts = fit.parameters.tail(fit.num_scores());
      solution.scores.resize(fit.num_scores(), rows);
      for (int k = 0; k < fit.num_scores(); ++k) {
        solution.scores.row(k) = fit.scores[static_cast<std::size_t>(k)].head(rows).transpose();
      }
      solution.objective = fit.problem->c * fit.loss + 0.5 * solution.weights.squaredNorm();
      solution.gradient_norm = fit.gradient_norm;
      solution.iterations = fit.iterations;
      result.push_back(std::move(solution));
    }
    return result;
  }

 private:
  template <typename Scalar> struct Operands {
    Columns<Scalar> weights;    ///< directions, scaled: operands of the product
    Columns<Scalar> residuals;  ///< operands of the transposed product
  };

  void make_preconditioners(const std::vector<RegressionProblem>& problems) {
    // Mean and scale of all problems together; each problem's own differ slightly.
    const auto dim = static_cast<Eigen::Index>(panel_.cols());
    VectorD mean = VectorD::Zero(dim);
    VectorD scale = VectorD::Zero(dim);
    for (const RegressionProblem& problem : problems) {
      mean += problem.part->mean;
      scale += problem.part->scale;
    }
    const auto count = static_cast<double>(problems.size());
    const PreconditionerFactory factory(panel_, mean / count, scale / count, pool_);
    for (Fit& fit : fits_) {
      throw_if_stopped(stop_);
      const double share =
          static_cast<double>(fit.problem->part->num_rows) / static_cast<double>(panel_.rows());
      // Rounded to a power of two: folds of nearly equal size share one.
      const double strength =
          std::exp2(std::round(std::log2(kTypicalWeight * fit.problem->c * share)));
      std::unique_ptr<Preconditioner>& preconditioner = preconditioners_[strength];
      if (preconditioner == nullptr) preconditioner = factory.make(strength, pool_);
      fit.preconditioner = preconditioner.get();
    }
  }

  template <typename Scalar> void run(double tolerance) {
    Operands<Scalar> operands;
    std::vector<Fit*> active;
    for (Fit& fit : fits_) active.push_back(&fit);
    place_columns(active);
    start(active, operands);
    while (true) {
      std::erase_if(active, [&](const Fit* fit) {
        return fit->stalled || fit->gradient_norm <= tolerance ||
               fit->iterations >= options_.max_iterations;
      });
      if (active.empty()) return;
      throw_if_stopped(stop_);
      place_columns(active);
      find_directions(active);
      score_directions(active, operands);
      search(active, operands);
      update_gradients(active, operands);
    }
  }

  void place_columns(const std::vector<Fit*>& active) {
    num_columns_ = 0;
    for (Fit* fit : active) {
      fit->first = num_columns_;
      num_columns_ += fit->num_scores();
    }
  }

  /// Computes direction = -H gradient, where H is L-BFGS's update of the preconditioner.
  void find_directions(const std::vector<Fit*>& active) {
    for_each(active, [](Fit& fit) {
      fit.direction = fit.gradient;
      fit.memory.first_loop(fit.direction);
    });
    precondition(active);
    for_each(active, [&](Fit& fit) {
      fit.memory.second_loop(fit.direction);
      fit.direction *= -1.0;
      fit.start_slope = fit.gradient.dot(fit.direction);
      if (fit.start_slope < 0.0) return;
      // Rounding made the direction useless: restart along the scaled gradient.
      fit.memory.clear();
      const double curvature = 1.0 + 0.25 * fit.scale() * static_cast<double>(panel_.cols());
      fit.direction = -fit.gradient / curvature;
      fit.start_slope = fit.gradient.dot(fit.direction);
    });
  }

  /// Applies each fit's preconditioner to its direction, diagonal for the intercepts.
  void precondition(const std::vector<Fit*>& active) {
    const Eigen::Index dim = panel_.cols();
    for (const auto& [strength, preconditioner] : preconditioners_) {
      std::vector<Fit*> group;
      std::int64_t columns = 0;
      for (Fit* fit : active) {
        if (fit->preconditioner != preconditioner.get()) continue;
        group.push_back(fit);
        columns += fit->num_scores();
      }
      if (group.empty()) continue;
      precondition_in_.resize(columns, panel_.padded_cols());
      std::int64_t column = 0;
      for (Fit* fit : group) {
        for (int k = 0; k < fit->num_scores(); ++k) {
          precondition_in_.array(column++).head(dim) = fit->direction.segment(k * dim, dim).array();
        }
      }
      preconditioner->apply(precondition_in_, precondition_out_, pool_);
      column = 0;
      for (Fit* fit : group) {
        for (int k = 0; k < fit->num_scores(); ++k) {
          fit->direction.segment(k * dim, dim) =
              precondition_out_.array(column++).head(dim).matrix();
        }
        fit->direction.tail(fit->num_scores()) /= kTypicalWeight * fit->scale();
      }
    }
  }

  template <typename Scalar>
  void score_directions(const std::vector<Fit*>& active, Operands<Scalar>& operands) {
    const Eigen::Index dim = panel_.cols();
    operands.weights.resize(num_columns_, panel_.padded_cols());
    std::vector<double> offsets(static_cast<std::size_t>(num_columns_));
    for_each(active, [&](Fit& fit) {
      const TrainingPart& part = *fit.problem->part;
      for (int k = 0; k < fit.num_scores(); ++k) {
        const VectorD scaled = fit.direction.segment(k * dim, dim).cwiseQuotient(part.scale);
        operands.weights.array(fit.first + k).head(dim) = scaled.array().template cast<Scalar>();
        offsets[static_cast<std::size_t>(fit.first + k)] =
            fit.direction[fit.num_weights() + k] - scaled.dot(part.mean);
      }
    });
    panel_.multiply(operands.weights, direction_scores_, pool_);
    for_each(active, [&](Fit& fit) {
      for (int k = 0; k < fit.num_scores(); ++k) {
        direction_scores_.array(fit.first + k) += offsets[static_cast<std::size_t>(fit.first + k)];
      }
    });
  }

  template <typename Scalar>
  void start(const std::vector<Fit*>& active, Operands<Scalar>& operands) {
    for_each(active, [](Fit& fit) { fit.direction = fit.parameters; });
    score_directions(active, operands);
    for_each(active, [&](Fit& fit) {
      for (int k = 0; k < fit.num_scores(); ++k) {
        fit.scores[static_cast<std::size_t>(k)] = direction_scores_.array(fit.first + k).matrix();
      }
    });
    operands.residuals.resize(num_columns_, panel_.padded_rows());
    const std::vector<LineLoss> losses = evaluate(active, operands, false);
    for (std::size_t i = 0; i < active.size(); ++i) {
      active[i]->loss = losses[i].loss;
      active[i]->direction.setZero();
      active[i]->line = LineSearch();
    }
    update_gradients(active, operands);
  }

  /// Searches along the directions; trials need no product. Stores the accepted residuals.
  template <typename Scalar>
  void search(const std::vector<Fit*>& active, Operands<Scalar>& operands) {
    operands.residuals.resize(num_columns_, panel_.padded_rows());
    for (Fit* fit : active) fit->line = LineSearch(fit->start_slope);
    std::vector<Fit*> pending = active;
    for (int trial = 0; !pending.empty(); ++trial) {
      const std::vector<LineLoss> losses = evaluate(pending, operands, true);
      std::vector<Fit*> next;
      for (std::size_t i = 0; i < pending.size(); ++i) {
        Fit& fit = *pending[i];
        fit.loss = losses[i].loss;
        const auto weights = fit.parameters.head(fit.num_weights());
        const auto direction = fit.direction.head(fit.num_weights());
        const double length = direction.squaredNorm();
        const double slope =
            fit.problem->c * losses[i].slope + weights.dot(direction) + fit.line.step() * length;
        if (fit.line.accepts(slope)) continue;
        if (trial == kMaxTrials) {
          fit.stalled = true;
          continue;
        }
        fit.line.move(slope, fit.problem->c * losses[i].curvature + length);
        next.push_back(&fit);
      }
      pending = std::move(next);
    }
    for_each(active, [&](Fit& fit) {
      fit.parameters += fit.line.step() * fit.direction;
      for (int k = 0; k < fit.num_scores(); ++k) {
        fit.scores[static_cast<std::size_t>(k)] +=
            fit.line.step() * direction_scores_.array(fit.first + k).matrix();
      }
      ++fit.iterations;
    });
  }

  /// Computes the loss of each fit at its step; blocks of rows in parallel, summed in order.
  template <typename Scalar>
  std::vector<LineLoss> evaluate(const std::vector<Fit*>& fits, Operands<Scalar>& operands,
                                 bool along_direction) {
    const std::int64_t blocks = (panel_.rows() + kLossRows - 1) / kLossRows;
    std::vector<LineLoss> parts(fits.size() * static_cast<std::size_t>(blocks));
    pool_.parallel_for(static_cast<std::int64_t>(parts.size()), [&](std::int64_t item) {
      const Fit& fit = *fits[static_cast<std::size_t>(item / blocks)];
      const std::int64_t first = item % blocks * kLossRows;
      const auto num_scores = static_cast<std::size_t>(fit.num_scores());
      std::vector<const double*> scores(num_scores);
      std::vector<const double*> directions(num_scores);
      std::vector<Scalar*> residuals(num_scores);
      for (std::size_t k = 0; k < num_scores; ++k) {
        const std::int64_t column = fit.first + static_cast<std::int64_t>(k);
        scores[k] = fit.scores[k].data();
        directions[k] = direction_scores_.column(column);
        residuals[k] = operands.residuals.column(column);
      }
      const ScoreColumns columns{.scores = scores.data(),
                                 .direction = along_direction ? directions.data() : nullptr,
                                 .num_scores = fit.num_scores(),
                                 .classes = fit.problem->classes.data(),
                                 .weight = fit.problem->part->weight.data()};
      parts[static_cast<std::size_t>(item)] =
          evaluate_loss(columns, fit.line.step(), first, std::min(kLossRows, panel_.rows() - first),
                        residuals.data());
    });
    std::vector<LineLoss> sums(fits.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      sums[i / static_cast<std::size_t>(blocks)] += parts[i];
    }
    return sums;
  }

  /// Computes the gradients from the residuals: one transposed product for all fits.
  template <typename Scalar>
  void update_gradients(const std::vector<Fit*>& active, Operands<Scalar>& operands) {
    const Eigen::Index dim = panel_.cols();
    panel_.multiply_transposed(operands.residuals, products_, pool_);
    for_each(active, [&](Fit& fit) {
      const TrainingPart& part = *fit.problem->part;
      VectorD gradient(fit.parameters.size());
      for (int k = 0; k < fit.num_scores(); ++k) {
        const double sum = operands.residuals.array(fit.first + k).template cast<double>().sum();
        gradient.segment(k * dim, dim) =
            fit.problem->c * ((products_.array(fit.first + k).head(dim) - sum * part.mean.array()) /
                              part.scale.array())
                                 .matrix() +
            fit.parameters.segment(k * dim, dim);
        gradient[fit.num_weights() + k] = fit.problem->c * sum;
      }
      if (fit.line.step() > 0.0)
        fit.memory.add(fit.line.step() * fit.direction, gradient - fit.gradient);
      fit.gradient = std::move(gradient);
      fit.gradient_norm = fit.gradient.lpNorm<Eigen::Infinity>() / fit.scale();
    });
  }

  template <typename F> void for_each(const std::vector<Fit*>& fits, const F& f) {
    pool_.parallel_for(static_cast<std::int64_t>(fits.size()),
                       [&](std::int64_t i) { f(*fits[static_cast<std::size_t>(i)]); });
  }

  const PanelMatrix& panel_;
  const LogisticOptions& options_;
  ThreadPool& pool_;
  std::stop_token stop_;
  std::vector<Fit> fits_;
  std::map<double, std::unique_ptr<Preconditioner>> preconditioners_;  // by strength
  std::int64_t num_columns_ = 0;
  Columns<double> direction_scores_;  // [columns][padded_rows]
  Columns<double> products_;          // [columns][padded_cols]
  Columns<double> precondition_in_, precondition_out_;
};

}  // namespace

std::vector<RegressionSolution> solve_regressions(const PanelMatrix& panel,
                                                  const std::vector<RegressionProblem>& problems,
                                                  const LogisticOptions& options, ThreadPool& pool,
                                                  const std::stop_token& stop) {
  if (problems.empty()) return {};
  BatchSolver solver(panel, problems, options, pool, stop);
  solver.solve();
  return solver.solutions();
}

}  // namespace lime::probes

// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/tsne.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "metrics/rows.h"
#include "metrics/tsne/embedding_checks.h"
#include "metrics/tsne/exaggeration.h"
#include "metrics/tsne/gradient_descent.h"
#include "metrics/tsne/repulsion.h"

namespace lime {

void TsneOptions::describe(OptionList& list) {
  list.add("perplexity", perplexity,
           "effective number of neighbours per point, >= 1; at most (points - 1) / 3");
  list.add("iterations", iterations,
           "total number of iterations, >= 0; 0: the initial embedding, PCA by default");
  list.add("repulsion", repulsion,
           "method for the repulsive forces; auto: exact up to 1000 points, else barnes-hut");
  list.add("theta", theta,
           "opening angle of barnes-hut, in [0, 1]; 0: exact gradient in double precision");
  list.add("init", init, "initial embedding: principal components or random");
  list.add("early_exaggeration", early_exaggeration,
           "factor on the affinities in the first iterations, >= 1");
  list.add("exaggeration_iterations", exaggeration_iterations,
           "iterations with early exaggeration, >= 0");
  list.add("annealing_iterations", annealing_iterations,
           "iterations over which the exaggeration then falls to 1, >= 0");
  list.add("learning_rate", learning_rate,
           "learning rate, > 0; default: points / exaggeration / 4 at the present exaggeration");
  list.add("initial_momentum", initial_momentum, "momentum during early exaggeration, in [0, 1)");
  list.add("final_momentum", final_momentum, "momentum after early exaggeration, in [0, 1)");
  list.add("min_gain", min_gain, "smallest gain of a coordinate, in (0, 1]");
  list.add("min_grad_norm", min_grad_norm, "stop when the gradient norm falls below this, >= 0");
  list.add("patience", patience, "stop after this many iterations without a lower divergence, > 0");
  list.add("neighbors", neighbors.search,
           "neighbour search; auto: exact up to 1e12 multiply-adds (20,000 points of 2048 "
           "dimensions), else FAISS's inverted file");
  list.add("target_recall", neighbors.target_recall,
           "target recall of the inverted file, in (0, 1]");
}

void TsneOptions::validate() const {
  check_option(perplexity >= 1.0 && std::isfinite(perplexity), "perplexity", ">= 1", perplexity);
  check_option(theta >= 0.0 && theta <= 1.0, "theta", "in [0, 1]", theta);
  check_option(iterations >= 0, "iterations", ">= 0", iterations);
  check_option(exaggeration_iterations >= 0, "exaggeration_iterations", ">= 0",
               exaggeration_iterations);
  check_option(annealing_iterations >= 0, "annealing_iterations", ">= 0", annealing_iterations);
  check_option(early_exaggeration >= 1.0 && std::isfinite(early_exaggeration), "early_exaggeration",
               ">= 1", early_exaggeration);
  const double rate = learning_rate.value_or(1.0);
  check_option(rate > 0.0 && std::isfinite(rate), "learning_rate", "> 0", rate);
  check_option(initial_momentum >= 0.0 && initial_momentum < 1.0, "initial_momentum", "in [0, 1)",
               initial_momentum);
  check_option(final_momentum >= 0.0 && final_momentum < 1.0, "final_momentum", "in [0, 1)",
               final_momentum);
  check_option(min_gain > 0.0 && min_gain <= 1.0, "min_gain", "in (0, 1]", min_gain);
  check_option(min_grad_norm >= 0.0, "min_grad_norm", ">= 0", min_grad_norm);
  check_option(patience > 0, "patience", "> 0", patience);
  neighbors.validate();
}

void TsneOptions::validate(Eigen::Index num_points) const {
  validate();
  if (num_points < 4) throw InvalidArgument("tsne: needs at least 4 points, got {}", num_points);
  const double most = static_cast<double>(num_points - 1) / 3.0;
  throw_if(perplexity > most,
           "tsne: perplexity must be <= (num_points - 1) / 3 = {:.1f} for {} points, got {}",
           std::floor(most * 10.0) / 10.0, num_points, perplexity);
}

std::int64_t TsneOptions::num_neighbors(Eigen::Index num_points) const {
  return std::min<std::int64_t>(num_points - 1, static_cast<std::int64_t>(3.0 * perplexity + 1.0));
}

double TsneOptions::learning_rate_for(Eigen::Index num_points, double exaggeration) const {
  return learning_rate.value_or(static_cast<double>(num_points) / exaggeration / 4.0);
}

std::int64_t TsneOptions::num_annealing_iterations() const {
  const std::int64_t left = std::max<std::int64_t>(iterations - exaggeration_iterations, 0);
  return std::min(annealing_iterations, left / 2);
}

namespace {

/// Iterations between checks of the divergence (scikit-learn: _N_ITER_CHECK).
constexpr std::int64_t kCheckInterval = 50;
/// Up to this size the final divergence is over all pairs; beyond, it uses the optimiser's forces.
constexpr Eigen::Index kMaxPairsCounted = 200'000;

using Clock = std::chrono::steady_clock;

/// Returns the seconds since `last`, which becomes now.
double lap(Clock::time_point& last) {
  const Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(last, now)).count();
}

/// Returns the sum of q over all pairs.
double normalization_of(const MatrixD& embedding, TsneOptions options, ThreadPool& pool) {
  if (embedding.rows() <= kMaxPairsCounted) options.repulsion = TsneRepulsion::kExact;
  MatrixD force;
  return tsne_detail::make_repulsion(options, embedding.rows(), pool)->compute(embedding, force);
}

void check_start(const MatrixD& start, Eigen::Index num_points) {
  throw_if(start.rows() != num_points || start.cols() != 2,
           "tsne: the initial embedding must have {} rows and 2 columns, got {} x {}", num_points,
           start.rows(), start.cols());
  if (!start.allFinite()) throw InvalidArgument("tsne: the initial embedding must be finite");
}

void iterate(tsne_detail::GradientDescent& descent, const TsneOptions& options,
             const TsneStepFn& on_step, const std::stop_token& stop, TsneResult& result) {
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_iteration = 0;
  tsne_detail::Exaggeration exaggeration(options, descent.embedding());
  for (std::int64_t iteration = 1; iteration <= options.iterations; ++iteration) {
    throw_if_stopped(stop);
    exaggeration.prepare(iteration, descent);
    const double factor = exaggeration.at(iteration);
    const double learning_rate = options.learning_rate_for(descent.embedding().rows(), factor);
    result.grad_norm =
        descent.advance({.exaggeration = factor,
                         .momentum = exaggeration.is_early(iteration) ? options.initial_momentum
                                                                      : options.final_momentum,
                         .learning_rate = learning_rate,
                         .min_gain = options.min_gain});
    result.iterations = iteration;
    throw_if<NumericalError>(
        !std::isfinite(result.grad_norm),
        "tsne: the optimisation diverged at iteration {}; use a learning rate below {}", iteration,
        learning_rate);
    const bool exaggerates = !exaggeration.is_over(iteration);
    const bool is_time = iteration % kCheckInterval == 0 || iteration == options.iterations;
    if (!is_time || (exaggerates && !on_step)) continue;
    const TsneStep step{iteration, options.iterations, descent.divergence(), result.grad_norm,
                        descent.embedding()};
    const auto end_by = [&](TsneEnd end) { result.end = end; };
    if (on_step && !on_step(step)) return end_by(TsneEnd::kCallback);
    if (exaggerates) continue;
    if (step.grad_norm <= options.min_grad_norm) return end_by(TsneEnd::kGradient);
    if (step.kl_divergence < best) {
      best = step.kl_divergence;
      best_iteration = iteration;
    }
    if (iteration - best_iteration > options.patience) return end_by(TsneEnd::kNoProgress);
  }
}

}  // namespace

TsneResult tsne_from_affinities(const Affinities& affinities, MatrixD start,
                                const TsneOptions& options, ThreadPool& pool,
                                const TsneStepFn& on_step, const std::stop_token& stop) {
  options.validate();
  check_start(start, affinities.num_points());
  Clock::time_point last = Clock::now();
  ThreadPool spin_pool(pool.num_threads(), ThreadPool::Wait::kSpin);
  TsneResult result;
  result.repulsion = tsne_detail::chosen_repulsion(options, start.rows());
  const auto divergence_of = [&](const MatrixD& embedding) {
    return tsne_detail::kl_divergence(affinities, embedding,
                                      normalization_of(embedding, options, spin_pool), spin_pool);
  };
  const double start_divergence = divergence_of(start);
  tsne_detail::GradientDescent descent(affinities, std::move(start), options, spin_pool);
  iterate(descent, options, on_step, stop, result);
  result.embedding = descent.embedding();
  result.kl_divergence = divergence_of(result.embedding);
  if (options.iterations > 0) tsne_detail::check_result(result, options, start_divergence);
  result.optimization_seconds = lap(last);
  return result;
}

TsneResult tsne(const ConstMatrixRef& points, const TsneOptions& options, ThreadPool& pool,
                const std::optional<MatrixD>& start, const TsneStepFn& on_step,
                const std::stop_token& stop) {
  options.validate(points.rows());
  check_finite_rows(points);
  throw_if(((points.rowwise() - points.row(0)).array() == 0.0F).all(),
           "tsne: all {} rows are equal; there is nothing to embed", points.rows());
  if (start) check_start(*start, points.rows());
  Clock::time_point last = Clock::now();
  NeighborOptions neighbor_options = options.neighbors;
  neighbor_options.seed = options.seed;
  const NeighborGraph graph =
      find_neighbors(points, options.num_neighbors(points.rows()), neighbor_options, pool, stop);
  const double neighbors_seconds = lap(last);
  const Affinities affinities = joint_probabilities(
      graph.index, conditional_probabilities(graph.squared_distance, options.perplexity, pool),
      pool);
  const double affinities_seconds = lap(last);
  MatrixD first = start ? *start
                  : options.init == TsneInit::kPca
                      ? pca_initialization(points, options.seed, pool)
                      : random_initialization(points.rows(), options.seed);
  const double initialization_seconds = lap(last);
  TsneResult result =
      tsne_from_affinities(affinities, std::move(first), options, pool, on_step, stop);
  result.search = graph.search;
  result.recall = graph.recall;
  result.neighbors_seconds = neighbors_seconds;
  result.affinities_seconds = affinities_seconds;
  result.optimization_seconds += initialization_seconds;
  return result;
}

}  // namespace lime

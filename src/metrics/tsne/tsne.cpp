// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/tsne.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random.h"
#include "metrics/rows.h"
#include "metrics/tsne/embedding_checks.h"
#include "metrics/tsne/exaggeration.h"
#include "metrics/tsne/gradient_descent.h"
#include "metrics/tsne/repulsion.h"

namespace lime {
namespace {

constexpr int kBisectionSteps = 100;
constexpr double kEntropyTolerance = 1e-5;
constexpr std::int64_t kAffinityBlock = 64;

/// Computes the probabilities of one row for one beta, and returns their entropy.
///
/// The smallest distance is subtracted, which changes neither and prevents underflow.
double probabilities_and_entropy(const Eigen::ArrayXd& excess, double beta, Eigen::ArrayXd& row) {
  row = (-beta * excess).exp();
  const double sum = row.sum();  // >= 1: the nearest contributes 1
  row /= sum;
  return std::log(sum) + beta * (row * excess).sum();
}

void bisect_row(const Eigen::ArrayXd& excess, double target, Eigen::ArrayXd& row) {
  double beta = 1.0;
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kBisectionSteps; ++step) {
    const double difference = probabilities_and_entropy(excess, beta, row) - target;
    if (std::abs(difference) <= kEntropyTolerance) return;
    (difference > 0.0 ? low : high) = beta;
    beta = std::isinf(high) ? 2.0 * beta : 0.5 * (low + high);
  }
}

/// The transposed matrix, row by row with ascending columns.
struct Transposed {
  std::vector<std::int64_t> offset;
  std::vector<std::int32_t> column;
  std::vector<double> value;
};

Transposed transpose(const NeighborGraph::Indices& index, const MatrixD& value) {
  Transposed result;
  result.offset.assign(static_cast<std::size_t>(index.rows()) + 1, 0);
  for (Eigen::Index i = 0; i < index.size(); ++i) {
    ++result.offset[static_cast<std::size_t>(index.data()[i]) + 1];
  }
  std::partial_sum(result.offset.begin(), result.offset.end(), result.offset.begin());
  result.column.resize(static_cast<std::size_t>(index.size()));
  result.value.resize(result.column.size());
  std::vector<std::int64_t> next(result.offset.begin(), result.offset.end() - 1);
  for (Eigen::Index row = 0; row < index.rows(); ++row) {
    for (Eigen::Index i = 0; i < index.cols(); ++i) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(index(row, i))]++);
      result.column[at] = static_cast<std::int32_t>(row);
      result.value[at] = value(row, i);
    }
  }
  return result;
}

struct Entry {
  std::int32_t column;
  double value;
};

std::vector<Entry> merge_row(const NeighborGraph::Indices& index, const MatrixD& value,
                             const Transposed& transposed, Eigen::Index row) {
  const auto at = static_cast<std::size_t>(row);
  std::vector<Entry> entries;
  for (Eigen::Index i = 0; i < index.cols(); ++i) entries.push_back({index(row, i), value(row, i)});
  for (std::int64_t i = transposed.offset[at]; i < transposed.offset[at + 1]; ++i) {
    entries.push_back({transposed.column[static_cast<std::size_t>(i)],
                       transposed.value[static_cast<std::size_t>(i)]});
  }
  std::ranges::stable_sort(entries, {}, &Entry::column);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].column == entries[kept].column) {
      entries[kept].value += entries[i].value;
    } else {
      entries[++kept] = entries[i];
    }
  }
  entries.resize(kept + 1);
  return entries;
}

constexpr Eigen::Index kSubspace = 10;
constexpr int kMaxRounds = 40;
constexpr double kVarianceTolerance = 1e-5;
constexpr Eigen::Index kRowBlock = 256;
/// A component with less than this fraction of the first one's deviation is a rounding error.
constexpr double kNoVariance = 1e-6;

/// Calls visit(block, centred rows of it) in parallel.
template <typename Visit>
void for_centred_blocks(const ConstMatrixRef& points, const Eigen::RowVectorXf& mean,
                        ThreadPool& pool, const Visit& visit) {
  pool.parallel_for((points.rows() + kRowBlock - 1) / kRowBlock, [&](std::int64_t block) {
    const Eigen::Index first = block * kRowBlock;
    const MatrixF rows =
        points.middleRows(first, std::min(kRowBlock, points.rows() - first)).rowwise() - mean;
    visit(block, rows);
  });
}

/// Computes X^T X basis, [dim, columns], for the centred X; summed block by block in order.
MatrixF apply_scatter(const ConstMatrixRef& points, const Eigen::RowVectorXf& mean,
                      const MatrixF& basis, ThreadPool& pool) {
  std::vector<MatrixF> parts(static_cast<std::size_t>((points.rows() + kRowBlock - 1) / kRowBlock));
  for_centred_blocks(points, mean, pool, [&](std::int64_t block, const MatrixF& rows) {
    const MatrixF projected = rows * basis;
    parts[static_cast<std::size_t>(block)] = rows.transpose() * projected;
  });
  MatrixF sum = MatrixF::Zero(basis.rows(), basis.cols());
  for (const MatrixF& part : parts) sum += part;
  return sum;
}

MatrixF orthonormal(const MatrixF& columns) {
  const Eigen::HouseholderQR<MatrixD> qr(columns.cast<double>());
  const MatrixD thin = MatrixD::Identity(columns.rows(), columns.cols());
  return (qr.householderQ() * thin).cast<float>();
}

struct Components {
  MatrixF direction;         // [dim, 2]
  Eigen::Vector2d variance;  // times the number of points, up to the scale of `points`
};

/// Computes the first two eigenvectors of the scatter matrix within the span of `basis`.
Components rayleigh_ritz(const MatrixF& basis, const MatrixF& applied) {
  const MatrixD projected = basis.cast<double>().transpose() * applied.cast<double>();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(0.5 *
                                                              (projected + projected.transpose()));
  const Eigen::Index last = basis.cols() - 1;
  const Eigen::Index second = std::max<Eigen::Index>(last - 1, 0);
  Components components{MatrixF(basis.rows(), 2), {}};
  components.direction.col(0) = basis * solver.eigenvectors().col(last).cast<float>();
  components.direction.col(1) = basis * solver.eigenvectors().col(second).cast<float>();
  components.variance << solver.eigenvalues()[last], last > 0 ? solver.eigenvalues()[second] : 0.0;
  return components;
}

Components principal_components(const ConstMatrixRef& points, const Eigen::RowVectorXf& mean,
                                std::uint64_t seed, ThreadPool& pool) {
  Random random(seed);
  MatrixF basis(points.cols(), std::min(kSubspace, points.cols()));
  std::generate_n(basis.data(), basis.size(), [&] { return static_cast<float>(random.normal()); });
  basis = orthonormal(basis);
  Components components;
  Eigen::Vector2d before = Eigen::Vector2d::Zero();
  for (int round = 0; round < kMaxRounds; ++round) {
    const MatrixF applied = apply_scatter(points, mean, basis, pool);
    components = rayleigh_ritz(basis, applied);
    const double moved = (components.variance - before).cwiseAbs().maxCoeff();
    if (moved <= kVarianceTolerance * components.variance[0]) break;
    before = components.variance;
    basis = orthonormal(applied);
  }
  return components;
}

double deviation(const Eigen::VectorXd& values) {
  return std::sqrt((values.array() - values.mean()).square().mean());
}

}  // namespace

MatrixD conditional_probabilities(const MatrixD& squared_distance, double perplexity,
                                  ThreadPool& pool) {
  MatrixD conditional(squared_distance.rows(), squared_distance.cols());
  const double target = std::log(perplexity);
  for_blocks(squared_distance.rows(), kAffinityBlock, pool,
             [&](Eigen::Index first, Eigen::Index last) {
               Eigen::ArrayXd row(squared_distance.cols());
               for (Eigen::Index i = first; i < last; ++i) {
                 const Eigen::ArrayXd distances = squared_distance.row(i).transpose().array();
                 bisect_row(distances - distances.minCoeff(), target, row);
                 conditional.row(i) = row.matrix().transpose();
               }
             });
  return conditional;
}

Affinities joint_probabilities(const NeighborGraph::Indices& index, const MatrixD& conditional,
                               ThreadPool& pool) {
  const Transposed transposed = transpose(index, conditional);
  const Eigen::Index rows = index.rows();
  std::vector<std::vector<Entry>> merged(static_cast<std::size_t>(rows));
  for_blocks(rows, kAffinityBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
    for (Eigen::Index row = first; row < last; ++row) {
      merged[static_cast<std::size_t>(row)] = merge_row(index, conditional, transposed, row);
    }
  });
  Affinities affinities;
  affinities.offset.assign(1, 0);
  for (const std::vector<Entry>& row : merged) {
    affinities.offset.push_back(affinities.offset.back() + std::ssize(row));
  }
  affinities.column.reserve(static_cast<std::size_t>(affinities.offset.back()));
  affinities.value.reserve(affinities.column.capacity());
  const double scale = 1.0 / (2.0 * static_cast<double>(rows));  // rows of conditional have sum 1
  for (const std::vector<Entry>& row : merged) {
    for (const Entry& entry : row) {
      affinities.column.push_back(entry.column);
      affinities.value.push_back(entry.value * scale);
    }
  }
  return affinities;
}

MatrixD pca_initialization(const ConstMatrixRef& points, std::uint64_t seed, ThreadPool& pool) {
  const Eigen::RowVectorXd mean = mean_row(points).transpose();
  // Products of four values of this size must not overflow float32.
  const double largest = (points.cast<double>().rowwise() - mean).cwiseAbs().maxCoeff();
  throw_if(largest == 0.0, "tsne: all {} rows are equal; there is nothing to embed", points.rows());
  const auto scale = static_cast<float>(std::exp2(-std::ceil(std::log2(largest))));
  const MatrixF scaled = points * scale;
  const Eigen::RowVectorXf scaled_mean = (mean * static_cast<double>(scale)).cast<float>();
  Components components = principal_components(scaled, scaled_mean, seed, pool);
  for (Eigen::Index c = 0; c < 2; ++c) {
    Eigen::Index at = 0;
    components.direction.col(c).cwiseAbs().maxCoeff(&at);
    if (components.direction(at, c) < 0.0F) components.direction.col(c) *= -1.0F;
  }
  MatrixD start(points.rows(), 2);
  for_centred_blocks(scaled, scaled_mean, pool, [&](std::int64_t block, const MatrixF& rows) {
    start.middleRows(block * kRowBlock, rows.rows()) = (rows * components.direction).cast<double>();
  });
  const double first = deviation(start.col(0));
  const bool is_line = deviation(start.col(1)) <= kNoVariance * first;
  start *= kTsneInitScale / first;
  if (is_line) start.col(1) = random_initialization(points.rows(), seed).col(1);
  return start;
}

MatrixD random_initialization(Eigen::Index num_points, std::uint64_t seed) {
  Random random(seed);
  MatrixD start(num_points, 2);
  std::generate_n(start.data(), start.size(), [&] { return kTsneInitScale * random.normal(); });
  return start;
}

MatrixD rescaled_initialization(const ConstMatrixRefD& embedding) {
  throw_if(embedding.cols() != 2 || embedding.rows() == 0,
           "tsne: an initial embedding must have 2 columns and a row per point, got {} x {}",
           embedding.rows(), embedding.cols());
  if (!embedding.allFinite()) throw InvalidArgument("tsne: an initial embedding must be finite");
  MatrixD start = embedding.rowwise() - embedding.colwise().mean();
  const double first = std::max(deviation(start.col(0)), deviation(start.col(1)));
  if (first == 0.0) throw InvalidArgument("tsne: all points of the initial embedding are equal");
  return start * (kTsneInitScale / first);
}

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

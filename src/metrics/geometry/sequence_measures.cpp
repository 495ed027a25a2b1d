// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/sequence_measures.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/options.h"
#include "core/random.h"
#include "metrics/rows.h"

namespace lime {
namespace {

/// Distances from the mean below this fraction of its norm are rounding errors: rows are float32.
constexpr double kRounding = 1e-12;

/// Maximum absolute column and row sum; the root of their product is the norm of Dong et al.
struct CompositeNorm {
  explicit CompositeNorm(Eigen::Index dim) : column_sums(Eigen::ArrayXd::Zero(dim)) {}

  template <typename Row> void add(const Row& magnitudes) {
    column_sums += magnitudes;
    largest_row = std::max(largest_row, magnitudes.sum());
  }
  double value() const { return std::sqrt(column_sums.maxCoeff() * largest_row); }

  Eigen::ArrayXd column_sums;
  double largest_row = 0.0;
};

/// Histogram bins: 8 bits of the exponent and the 4 leading bits of the mantissa.
constexpr int kShift = 19;
constexpr std::size_t kNumBins = std::size_t{1} << (31 - kShift);
/// Neighbouring elements use different tables: increments of equal bins are independent.
constexpr std::size_t kTables = 4;

std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

std::vector<std::uint32_t> histogram(const ConstMatrixRef& rows) {
  std::array<std::vector<std::uint32_t>, kTables> tables;
  for (auto& table : tables) table.assign(kNumBins, 0);
  const Eigen::Index whole =
      rows.cols() / static_cast<Eigen::Index>(kTables) * static_cast<Eigen::Index>(kTables);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const float* const row = rows.data() + r * rows.outerStride();
    for (Eigen::Index c = 0; c < whole; c += static_cast<Eigen::Index>(kTables)) {
      for (std::size_t i = 0; i < kTables; ++i) {
        ++tables[i][magnitude_bits(row[c + static_cast<Eigen::Index>(i)]) >> kShift];
      }
    }
    for (Eigen::Index c = whole; c < rows.cols(); ++c)
      ++tables[0][magnitude_bits(row[c]) >> kShift];
  }
  for (std::size_t i = 1; i < kTables; ++i) {
    for (std::size_t bin = 0; bin < kNumBins; ++bin) tables[0][bin] += tables[i][bin];
  }
  return tables[0];
}

struct Step {
  VectorD vector;
  double length = 0.0;

  void set(const ConstMatrixRef& rows, Eigen::Index from) {
    vector =
        rows.row(from + 1).transpose().cast<double>() - rows.row(from).transpose().cast<double>();
    length = vector.norm();
  }
};

/// Returns the median; for an even count the lower middle value.
double lower_median(VectorD values) {
  const auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Relative residual of the eigenpair.
constexpr double kTolerance = 1e-6;
constexpr int kMaxIterations = 300;
/// Iterations between two tests of convergence.
constexpr int kTestEvery = 4;
/// Rows that are converted to double at once, so that both products find them in the cache.
constexpr Eigen::Index kTileRows = 8;

VectorD gram_product(const ConstMatrixRef& x, const VectorD& v) {
  VectorD product = VectorD::Zero(v.size());
  MatrixD tile(kTileRows, x.cols());
  VectorD part(kTileRows);
  for (Eigen::Index r = 0; r < x.rows(); r += kTileRows) {
    const Eigen::Index count = std::min(kTileRows, x.rows() - r);
    tile.topRows(count) = x.middleRows(r, count).cast<double>();
    part.head(count).noalias() = tile.topRows(count) * v;
    product.noalias() += tile.topRows(count).transpose() * part.head(count);
  }
  return product;
}

}  // namespace

void DirectionSum::add(const ConstMatrixRef& rows, const VectorD* centre) {
  if (sum.size() == 0) sum = VectorD::Zero(rows.cols());
  throw_if(sum.size() != rows.cols(),
           "directions: rows must have {} dimensions like earlier rows, got {}", sum.size(),
           rows.cols());
  // A row that equals the centre up to rounding has no direction.
  const double shortest = centre != nullptr ? kRounding * centre->norm() : 0.0;
  VectorD row(rows.cols());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    row = rows.row(r).transpose().cast<double>();
    if (centre != nullptr) row -= *centre;
    const double length = row.norm();
    if (length > shortest) {
      sum += row * (1.0 / length);
      ++count;
    } else {
      ++zeros;
    }
  }
}

void DirectionSum::merge(const DirectionSum& other) {
  if (other.sum.size() == 0) return;
  if (sum.size() == 0) sum = VectorD::Zero(other.sum.size());
  sum += other.sum;
  count += other.count;
  zeros += other.zeros;
}

std::optional<double> DirectionSum::mean_cosine() const {
  if (count < 2) return std::nullopt;
  const auto n = static_cast<double>(count);
  return (sum.squaredNorm() - n) / (n * (n - 1.0));
}

SequenceSimilarity sequence_similarity(const ConstMatrixRef& rows) {
  const Eigen::Index tokens = rows.rows();
  throw_if(tokens < 2, "similarity: a sequence must have at least 2 tokens, got {}", tokens);
  const VectorD mean = mean_row(rows);
  const double mean_length = mean.norm();

  DirectionSum directions;
  directions.sum = VectorD::Zero(rows.cols());
  CompositeNorm norm(rows.cols());
  CompositeNorm residual_norm(rows.cols());
  double squares = 0.0;
  double residual_squares = 0.0;
  double cosines = 0.0;
  VectorD row(rows.cols());
  Eigen::ArrayXd residual(rows.cols());
  for (Eigen::Index r = 0; r < tokens; ++r) {
    row = rows.row(r).transpose().cast<double>();
    residual = (row - mean).array().abs();
    const double squared_length = row.squaredNorm();
    squares += squared_length;
    residual_squares += residual.matrix().squaredNorm();
    norm.add(row.array().abs());
    residual_norm.add(residual);
    if (squared_length > 0.0) {
      const double length = std::sqrt(squared_length);
      directions.sum += row * (1.0 / length);
      ++directions.count;
      if (mean_length > 0.0) cosines += row.dot(mean) / (length * mean_length);
    }
  }
  SequenceSimilarity result;
  directions.zeros = tokens - directions.count;
  result.mean_cosine = directions.mean_cosine();
  if (squares > 0.0) {
    result.rank_one_residual = std::sqrt(residual_squares / squares);
    result.rank_one_residual_1inf = residual_norm.value() / norm.value();
  }
  if (mean_length > 0.0 && directions.count > 0) {
    result.mean_token_similarity = cosines / static_cast<double>(directions.count);
  }
  result.directions = std::move(directions);
  return result;
}

void MassiveActivationOptions::validate() const {
  check_option(threshold >= 0.0 && std::isfinite(threshold), "massive_threshold", ">= 0",
               threshold);
  check_option(ratio >= 1.0 && std::isfinite(ratio), "massive_ratio", ">= 1", ratio);
}

float median_magnitude(const ConstMatrixRef& rows) {
  if (rows.size() == 0) throw InvalidArgument("median: needs at least one element, got none");
  const std::vector<std::uint32_t> bins = histogram(rows);
  auto rank = static_cast<std::uint64_t>((rows.size() - 1) / 2);
  std::uint32_t bin = 0;
  while (rank >= bins[bin]) rank -= bins[bin++];
  std::vector<std::uint32_t> candidates;
  candidates.reserve(bins[bin]);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const float* const row = rows.data() + r * rows.outerStride();
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      const std::uint32_t bits = magnitude_bits(row[c]);
      if (bits >> kShift == bin) candidates.push_back(bits);
    }
  }
  const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(candidates.begin(), middle, candidates.end());
  return std::bit_cast<float>(*middle);
}

MassiveActivations massive_activations(const ConstMatrixRef& rows,
                                       const MassiveActivationOptions& options) {
  options.validate();
  MassiveActivations result;
  result.median = static_cast<double>(median_magnitude(rows));
  const double limit = std::max(options.ratio * result.median, options.threshold);
  std::int64_t tokens = 0;
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const double largest = static_cast<double>(rows.row(r).cwiseAbs().maxCoeff());
    result.largest = std::max(result.largest, largest);
    if (largest <= options.threshold || largest < limit) continue;
    ++tokens;
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      const double magnitude = std::abs(static_cast<double>(rows(r, c)));
      if (magnitude > options.threshold && magnitude >= limit) ++result.num_massive;
    }
  }
  result.share = static_cast<double>(result.num_massive) / static_cast<double>(rows.size());
  result.token_share = static_cast<double>(tokens) / static_cast<double>(rows.rows());
  result.largest_ratio = result.median > 0.0 ? result.largest / result.median
                                             : std::numeric_limits<double>::infinity();
  return result;
}

PathCurvature path_curvature(const ConstMatrixRef& rows) {
  const Eigen::Index tokens = rows.rows();
  throw_if(tokens < 3, "curvature: a sequence must have at least 3 tokens, got {}", tokens);
  PathCurvature result;
  double sum = 0.0;
  Step step;
  Step next;
  step.set(rows, 0);
  for (Eigen::Index t = 1; t + 1 < tokens; ++t) {
    next.set(rows, t);
    if (step.length > 0.0 && next.length > 0.0) {
      const double cosine = step.vector.dot(next.vector) / (step.length * next.length);
      sum += std::acos(std::clamp(cosine, -1.0, 1.0));
      ++result.angles;
    }
    if (step.length == 0.0) ++result.still_steps;
    std::swap(step, next);
  }
  if (step.length == 0.0) ++result.still_steps;
  if (result.angles > 0) {
    result.degrees = sum / static_cast<double>(result.angles) * 180.0 / std::numbers::pi;
  }
  return result;
}

double largest_gram_eigenvalue(const ConstMatrixRef& rows) {
  Random random(0);
  VectorD v(rows.cols());
  for (double& value : v) value = random.normal();
  v.normalize();
  VectorD previous = VectorD::Zero(v.size());
  std::vector<double> diagonal;
  std::vector<double> below;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  for (int k = 1;; ++k) {
    VectorD next = gram_product(rows, v);
    if (!below.empty()) next -= below.back() * previous;
    diagonal.push_back(next.dot(v));
    next -= diagonal.back() * v;
    const double length = next.norm();
    const bool is_invariant = !(length > kTolerance * diagonal.front());
    if (is_invariant || k % kTestEvery == 0 || k == kMaxIterations) {
      solver.computeFromTridiagonal(Eigen::Map<const VectorD>(diagonal.data(), k),
                                    Eigen::Map<const VectorD>(below.data(), k - 1));
      const double largest = solver.eigenvalues()[k - 1];
      const double residual = length * std::abs(solver.eigenvectors()(k - 1, k - 1));
      if (is_invariant || residual <= kTolerance * largest || k == kMaxIterations) return largest;
    }
    below.push_back(length);
    previous = std::move(v);
    v = next / length;
  }
}

FirstToken measure_first_token(const ConstMatrixRef& rows) {
  throw_if(rows.rows() < 2, "first token: must have at least 2 tokens, got {}", rows.rows());
  VectorD squares(rows.rows());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    squares[r] = rows.row(r).cast<double>().squaredNorm();
  }
  const double middle = lower_median(squares);
  const auto share = [](const ConstMatrixRef& x, double trace) -> std::optional<double> {
    if (!(trace > 0.0)) return std::nullopt;
    return std::min(largest_gram_eigenvalue(x) / trace, 1.0);
  };
  const Eigen::Index others = rows.rows() - 1;
  FirstToken result;
  if (middle > 0.0) result.norm_ratio = std::sqrt(squares[0] / middle);
  result.top_share = share(rows, squares.sum());
  result.top_share_rest = share(rows.bottomRows(others), squares.tail(others).sum());
  return result;
}

TokenProfile token_profile(const ConstMatrixRef& rows) {
  if (rows.rows() == 0) throw InvalidArgument("token_profile: needs at least 1 token, got none");
  throw_if(!rows.allFinite(), "token_profile: representations must be finite");
  const MatrixD x = rows.cast<double>();
  TokenProfile profile;
  profile.norm = x.rowwise().norm();
  const double middle = lower_median(profile.norm);
  profile.relative_norm = VectorD::Zero(x.rows());
  if (middle > 0.0) profile.relative_norm = profile.norm / middle;
  profile.next_cosine = VectorD::Zero(x.rows() - 1);
  for (Eigen::Index t = 0; t + 1 < x.rows(); ++t) {
    const double lengths = profile.norm(t) * profile.norm(t + 1);
    if (lengths > 0.0) {
      profile.next_cosine(t) = std::clamp(x.row(t).dot(x.row(t + 1)) / lengths, -1.0, 1.0);
    }
  }
  return profile;
}

}  // namespace lime

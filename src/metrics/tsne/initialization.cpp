// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/initialization.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "metrics/rows.h"

namespace lime {
namespace {

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

}  // namespace lime

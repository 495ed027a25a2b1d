// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/gradient_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lime::tsne_detail {
namespace {

constexpr std::int64_t kPointBlock = 128;
constexpr double kGainIncrease = 0.2;
constexpr double kGainDecrease = 0.8;
constexpr double kNotFinite = std::numeric_limits<double>::infinity();

}  // namespace

GradientDescent::GradientDescent(const Affinities& affinities, MatrixD start,
                                 const TsneOptions& options, ThreadPool& pool)
    : pool_(pool),
      affinities_(affinities),
      attraction_(affinities, options.theta == 0.0),
      repulsion_(make_repulsion(options, start.rows(), pool)),
      embedding_(std::move(start)),
      next_(embedding_) {
  reset_momentum();
}

void GradientDescent::reset_momentum() {
  step_.setZero(embedding_.rows(), 2);
  gain_.setOnes(embedding_.rows(), 2);
}

void GradientDescent::prepare() {
  normalization_ = repulsion_->compute(embedding_, repulsive_);
  attraction_.set_embedding(embedding_, pool_);
}

PlaneVector GradientDescent::gradient_of(std::int64_t point, double exaggeration) const {
  const PlaneVector attractive = attraction_.force_of(point);
  return {4.0 * (exaggeration * attractive.x - repulsive_(point, 0) / normalization_),
          4.0 * (exaggeration * attractive.y - repulsive_(point, 1) / normalization_)};
}

void GradientDescent::move(std::int64_t point, const PlaneVector& gradient, const Rates& rates) {
  move_coordinate(point, 0, gradient.x, rates);
  move_coordinate(point, 1, gradient.y, rates);
}

void GradientDescent::move_coordinate(std::int64_t point, Eigen::Index axis, double gradient,
                                      const Rates& rates) {
  double& gain = gain_(point, axis);
  double& step = step_(point, axis);
  const bool keeps_direction = step * gradient < 0.0;
  gain = std::max(keeps_direction ? gain + kGainIncrease : gain * kGainDecrease, rates.min_gain);
  step = rates.momentum * step - rates.learning_rate * gain * gradient;
  next_(point, axis) = embedding_(point, axis) + step;
}

double GradientDescent::advance(const Rates& rates) {
  prepare();
  const std::int64_t count = embedding_.rows();
  const std::int64_t num_blocks = (count + kPointBlock - 1) / kPointBlock;
  Eigen::ArrayXd squared_norms(num_blocks);
  pool_.parallel_for(num_blocks, [&](std::int64_t block) {
    double sum = 0.0;
    const std::int64_t last = std::min(count, (block + 1) * kPointBlock);
    for (std::int64_t point = block * kPointBlock; point < last; ++point) {
      const PlaneVector gradient = gradient_of(point, rates.exaggeration);
      sum += gradient.x * gradient.x + gradient.y * gradient.y;
      move(point, gradient, rates);
      // Non-finite positions must not reach the next gradient.
      if (!std::isfinite(next_(point, 0) + next_(point, 1))) sum = kNotFinite;
    }
    squared_norms[block] = sum;
  });
  std::swap(embedding_, next_);
  return std::sqrt(squared_norms.sum());
}

double GradientDescent::divergence() const {
  return kl_divergence(affinities_, embedding_, normalization_, pool_);
}

MatrixD GradientDescent::gradient(double exaggeration) {
  prepare();
  MatrixD gradient(embedding_.rows(), 2);
  for (Eigen::Index point = 0; point < gradient.rows(); ++point) {
    const PlaneVector force = gradient_of(point, exaggeration);
    gradient(point, 0) = force.x;
    gradient(point, 1) = force.y;
  }
  return gradient;
}

}  // namespace lime::tsne_detail

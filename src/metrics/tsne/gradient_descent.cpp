// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/gradient_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/rows.h"
#include "metrics/tsne/float_lanes.h"

namespace lime::tsne_detail {
namespace {

/// Points per block of the sums; the blocks of a step also balance the threads.
constexpr std::int64_t kDivergenceBlock = 1024;
constexpr std::int64_t kStepBlock = 128;
constexpr double kGainIncrease = 0.2;
constexpr double kGainDecrease = 0.8;
constexpr double kNotFinite = std::numeric_limits<double>::infinity();

}  // namespace

Attraction::Attraction(const Affinities& affinities, bool in_double)
    : affinities_(affinities), in_double_(in_double) {
  if (in_double_) return;
  offset_.assign(1, 0);
  for (std::int64_t row = 0; row < affinities.num_points(); ++row) {
    const auto begin = affinities.offset[static_cast<std::size_t>(row)];
    const auto end = affinities.offset[static_cast<std::size_t>(row) + 1];
    const std::int64_t padded = (end - begin + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
    column_.insert(column_.end(), affinities.column.begin() + begin,
                   affinities.column.begin() + end);
    for (std::int64_t i = begin; i < end; ++i) {
      value_.push_back(static_cast<float>(affinities.value[static_cast<std::size_t>(i)]));
    }
    offset_.push_back(offset_.back() + padded);
    column_.resize(static_cast<std::size_t>(offset_.back()), static_cast<std::int32_t>(row));
    value_.resize(static_cast<std::size_t>(offset_.back()), 0.0F);
  }
}

void Attraction::set_embedding(const MatrixD& embedding, ThreadPool& pool) {
  embedding_ = &embedding;
  if (in_double_) return;
  const Eigen::Map<const Eigen::ArrayXd> from(embedding.data(), embedding.size());
  position_.resize(from.size());
  for_blocks(from.size(), kDivergenceBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
    position_.segment(first, last - first) = from.segment(first, last - first).cast<float>();
  });
}

PlaneVector Attraction::force_in_float(std::int64_t point) const {
  const SimdF x(position_[2 * point]);
  const SimdF y(position_[2 * point + 1]);
  SimdF force_x(0.0F);
  SimdF force_y(0.0F);
  const std::int64_t end = offset_[static_cast<std::size_t>(point) + 1];
  for (std::int64_t i = offset_[static_cast<std::size_t>(point)]; i < end; i += kFloatLanes) {
    const PairsF other = gather_pairs(position_.data(), column_.data() + i);
    const SimdF dx = x - other.first;
    const SimdF dy = y - other.second;
    const SimdF weight = load(value_.data() + i) * reciprocal(dy * dy + (dx * dx + SimdF(1.0F)));
    force_x += weight * dx;
    force_y += weight * dy;
  }
  return {static_cast<double>(sum_of_lanes(force_x)), static_cast<double>(sum_of_lanes(force_y))};
}

PlaneVector Attraction::force_in_double(std::int64_t point) const {
  const MatrixD& embedding = *embedding_;
  PlaneVector force{0.0, 0.0};
  const std::int64_t end = affinities_.offset[static_cast<std::size_t>(point) + 1];
  for (std::int64_t i = affinities_.offset[static_cast<std::size_t>(point)]; i < end; ++i) {
    const std::int32_t other = affinities_.column[static_cast<std::size_t>(i)];
    const double dx = embedding(point, 0) - embedding(other, 0);
    const double dy = embedding(point, 1) - embedding(other, 1);
    const double weight =
        affinities_.value[static_cast<std::size_t>(i)] / (1.0 + dx * dx + dy * dy);
    force.x += weight * dx;
    force.y += weight * dy;
  }
  return force;
}

double kl_divergence(const Affinities& affinities, const MatrixD& embedding, double normalization,
                     ThreadPool& pool) {
  const std::int64_t count = affinities.num_points();
  const std::int64_t num_blocks = (count + kDivergenceBlock - 1) / kDivergenceBlock;
  Eigen::ArrayXd sums(num_blocks);
  const double log_normalization = std::log(normalization);
  pool.parallel_for(num_blocks, [&](std::int64_t block) {
    double sum = 0.0;
    const std::int64_t last = std::min(count, (block + 1) * kDivergenceBlock);
    for (std::int64_t row = block * kDivergenceBlock; row < last; ++row) {
      const std::int64_t end = affinities.offset[static_cast<std::size_t>(row) + 1];
      for (std::int64_t i = affinities.offset[static_cast<std::size_t>(row)]; i < end; ++i) {
        const double p = affinities.value[static_cast<std::size_t>(i)];
        if (p <= 0.0) continue;  // p ln p -> 0
        const std::int32_t other = affinities.column[static_cast<std::size_t>(i)];
        const double distance = (embedding.row(row) - embedding.row(other)).squaredNorm();
        sum += p * (std::log(p * (1.0 + distance)) + log_normalization);
      }
    }
    sums[block] = sum;
  });
  return sums.sum();
}

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

void GradientDescent::restart(MatrixD embedding) {
  embedding_ = std::move(embedding);
  reset_momentum();
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
  const std::int64_t num_blocks = (count + kStepBlock - 1) / kStepBlock;
  Eigen::ArrayXd squared_norms(num_blocks);
  pool_.parallel_for(num_blocks, [&](std::int64_t block) {
    double sum = 0.0;
    const std::int64_t last = std::min(count, (block + 1) * kStepBlock);
    for (std::int64_t point = block * kStepBlock; point < last; ++point) {
      const PlaneVector gradient = gradient_of(point, rates.exaggeration);
      sum += gradient.x * gradient.x + gradient.y * gradient.y;
      move_coordinate(point, 0, gradient.x, rates);
      move_coordinate(point, 1, gradient.y, rates);
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

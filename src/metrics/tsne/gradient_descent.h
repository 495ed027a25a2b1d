// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/tsne/affinities.h"
#include "metrics/tsne/repulsion.h"
#include "metrics/tsne/tsne.h"

namespace lime::tsne_detail {

struct PlaneVector {
  double x;
  double y;
};

/// Computes the attractive forces between neighbours, with q_ij = 1 / (1 + |y_i - y_j|^2):
///
///   force_i = sum_j p_ij q_ij (y_i - y_j)
class Attraction {
 public:
  /// @param in_double  float32 otherwise. `affinities` must outlive this.
  Attraction(const Affinities& affinities, bool in_double);

  /// Sets the positions for force_of(). @param embedding  [num_points, 2].
  void set_embedding(const MatrixD& embedding, ThreadPool& pool);

  /// Thread-safe.
  PlaneVector force_of(std::int64_t point) const {
    return in_double_ ? force_in_double(point) : force_in_float(point);
  }

 private:
  PlaneVector force_in_double(std::int64_t point) const;
  PlaneVector force_in_float(std::int64_t point) const;

  const Affinities& affinities_;
  bool in_double_;
  const MatrixD* embedding_ = nullptr;
  // The same in float32; every row padded with zeros to whole registers.
  std::vector<std::int64_t> offset_;
  std::vector<std::int32_t> column_;
  std::vector<float> value_;
  Eigen::ArrayXf position_;  // x and y of every point
};

/// Computes the Kullback-Leibler divergence from P to Q, sum p_ij ln(p_ij / q_ij).
double kl_divergence(const Affinities& affinities, const MatrixD& embedding, double normalization,
                     ThreadPool& pool);

/// Gradient descent with momentum and a gain per coordinate, as in van der Maaten's code:
///
///   gain   = gain + 0.2 if gradient and last step have opposite signs, else 0.8 gain
///   step   = momentum * step - learning_rate * gain * gradient
class GradientDescent {
 public:
  struct Rates {
    double exaggeration = 1.0;
    double momentum = 0.8;
    double learning_rate = 200.0;
    double min_gain = 0.01;
  };

  /// `affinities` and `pool` must outlive this.
  GradientDescent(const Affinities& affinities, MatrixD start, const TsneOptions& options,
                  ThreadPool& pool);

  const MatrixD& embedding() const { return embedding_; }

  /// Takes a step; returns the gradient's norm, or infinity if a coordinate is not finite.
  double advance(const Rates& rates);
  /// Continues from `embedding`, with new steps and gains.
  void restart(MatrixD embedding);
  /// Resets steps and gains, as scikit-learn does after the early exaggeration.
  void reset_momentum();
  /// Computes the gradient at the current embedding.
  MatrixD gradient(double exaggeration);
  /// Computes the divergence of the current embedding, with the sum over pairs of the last
  /// gradient, i.e. of the embedding before the last step, as in scikit-learn.
  double divergence() const;

 private:
  void prepare();
  PlaneVector gradient_of(std::int64_t point, double exaggeration) const;
  void move_coordinate(std::int64_t point, Eigen::Index axis, double gradient, const Rates& rates);

  ThreadPool& pool_;
  const Affinities& affinities_;
  Attraction attraction_;
  std::unique_ptr<Repulsion> repulsion_;
  double normalization_ = 0.0;
  MatrixD embedding_;
  MatrixD next_;
  MatrixD repulsive_;
  MatrixD step_;
  MatrixD gain_;
};

}  // namespace lime::tsne_detail

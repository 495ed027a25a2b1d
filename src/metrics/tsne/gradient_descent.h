// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <memory>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/tsne/attraction.h"
#include "metrics/tsne/repulsion.h"

namespace lime::tsne_detail {

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
  /// Returns the sum of q over all pairs at the last gradient.
  double normalization() const { return normalization_; }

  /// Computes the gradient at the current embedding and takes a step; returns the gradient's norm,
  /// or infinity if a coordinate is not finite.
  double advance(const Rates& rates);
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
  void move(std::int64_t point, const PlaneVector& gradient, const Rates& rates);
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

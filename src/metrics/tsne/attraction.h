// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/tsne/affinities.h"

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

  /// Returns the force on one point. Thread-safe.
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
  std::vector<float> position_;  // x and y of every point
};

/// Computes the Kullback-Leibler divergence from P to Q, sum p_ij ln(p_ij / q_ij), with q_ij
/// normalised by Z.
double kl_divergence(const Affinities& affinities, const MatrixD& embedding, double normalization,
                     ThreadPool& pool);

}  // namespace lime::tsne_detail

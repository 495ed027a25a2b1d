// SPDX-License-Identifier: Apache-2.0
#include "metrics/streams/stream_measures.h"

#include <cmath>
#include <limits>

#include "metrics/experts/expert_load.h"

namespace lime {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double mean_cosine(const MatrixD& streams) {
  double sum = 0.0;
  double pairs = 0.0;
  for (Eigen::Index i = 0; i < streams.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      const double norms = streams.row(i).norm() * streams.row(j).norm();
      if (norms == 0.0) continue;
      sum += streams.row(i).dot(streams.row(j)) / norms;
      pairs += 1.0;
    }
  }
  return pairs > 0.0 ? sum / pairs : kNone;
}

}  // namespace

VectorD stream_energies(const ConstMatrixRef& streams) {
  const VectorD squares = streams.cast<double>().rowwise().squaredNorm();
  const double total = squares.sum();
  if (total > 0.0) return squares / total;
  return VectorD::Constant(streams.rows(), 1.0 / static_cast<double>(streams.rows()));
}

VectorD stream_measures(const ConstMatrixRef& streams) {
  const VectorD energies = stream_energies(streams);
  VectorD measures(static_cast<Eigen::Index>(kStreamMeasures.size()));
  measures << std::exp(load_entropy(energies)), energies.maxCoeff(),
      mean_cosine(streams.cast<double>());
  return measures;
}

VectorD mixing_measures(const ConstMatrixRef& weights) {
  const Eigen::Index n = weights.rows();
  const MatrixD mixing = weights.rightCols(n).cast<double>();
  const double scale = n > 1 ? std::sqrt(static_cast<double>(n - 1)) : kNone;
  const VectorD read = weights.col(0).cast<double>().cwiseAbs();
  const VectorD written = weights.col(1).cast<double>().cwiseAbs();
  VectorD measures(static_cast<Eigen::Index>(kMixingMeasures.size()));
  measures << (mixing - MatrixD::Identity(n, n)).norm() / scale,
      (mixing.array() - 1.0 / static_cast<double>(n)).matrix().norm() / scale,
      std::exp(load_entropy(read)), std::exp(load_entropy(written));
  return measures;
}

}  // namespace lime

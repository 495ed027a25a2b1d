// SPDX-License-Identifier: Apache-2.0
#include "metrics/lens/tuned_lens.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace lime {
namespace {

/// Log-probabilities of a row of logits.
struct Distribution {
  Eigen::ArrayXd logs;
  Eigen::Index largest = 0;

  explicit Distribution(const Eigen::Ref<const Eigen::RowVectorXf>& logits) {
    logs = logits.transpose().cast<double>().array() - double(logits.maxCoeff(&largest));
    logs -= std::log(logs.exp().sum());
  }
};

}  // namespace

MatrixF OutputHead::logits(MatrixF rows) const {
  if (norm == Norm::kLayerNorm) rows.colwise() -= rows.rowwise().mean().eval();
  if (norm != Norm::kNone) {
    const auto squares = rows.cast<double>().rowwise().squaredNorm().array();
    const Eigen::ArrayXd sizes = (squares / double(rows.cols()) + eps).sqrt();
    rows.array().colwise() /= sizes.cast<float>();
  }
  if (weight.size() > 0) rows.array().rowwise() *= weight.array();
  if (bias.size() > 0) rows.rowwise() += bias;
  MatrixF logits = rows * projection.transpose();
  if (projection_bias.size() > 0) logits.rowwise() += projection_bias;
  logits /= static_cast<float>(divisor);
  if (!softcap) return logits;
  const auto cap = static_cast<float>(*softcap);
  return (logits.array() / cap).tanh() * cap;
}

void AffineMoments::add(const MatrixF& from, const MatrixF& to) {
  const MatrixD x_rows = from.cast<double>();
  const MatrixD y_rows = to.cast<double>();
  if (count == 0.0) {
    x = y = VectorD::Zero(from.cols());
    xx = xy = MatrixD::Zero(from.cols(), from.cols());
  }
  count += static_cast<double>(from.rows());
  x += x_rows.colwise().sum();
  y += y_rows.colwise().sum();
  xx.noalias() += x_rows.transpose() * x_rows;
  xy.noalias() += x_rows.transpose() * y_rows;
}

AffineMap::AffineMap(const AffineMoments& sums, double ridge) {
  const VectorD mean = sums.x / sums.count;
  MatrixD covariance = sums.xx - sums.x * mean.transpose();
  covariance.diagonal().array() += ridge * covariance.trace() / static_cast<double>(mean.size());
  matrix_ = covariance.ldlt().solve(sums.xy - mean * sums.y.transpose());
  offset_ = sums.y / sums.count - matrix_.transpose() * mean;
}

MatrixF AffineMap::apply(const MatrixF& rows) const {
  return ((rows.cast<double>() * matrix_).rowwise() + offset_.transpose()).cast<float>();
}

MatrixD lens_measures(const MatrixF& logits, const MatrixF& final_logits,
                      std::span<const std::int32_t> next) {
  MatrixD measures(logits.rows(), kLensMeasures);
  for (Eigen::Index r = 0; r < logits.rows(); ++r) {
    const Distribution q(logits.row(r));
    const Distribution p(final_logits.row(r));
    const double right = q.logs(next[static_cast<std::size_t>(r)]);
    measures.row(r) << std::max(0.0, (p.logs.exp() * (p.logs - q.logs)).sum()),
        -(q.logs.exp() * q.logs).sum(), q.largest == p.largest ? 1.0 : 0.0, -right,
        1.0 + double((q.logs > right).count());
  }
  return measures;
}

}  // namespace lime

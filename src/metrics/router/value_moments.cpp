// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/value_moments.h"

#include <algorithm>

#include "core/errors.h"

namespace lime {
namespace {

using Eigen::Index;

/// Tokens widened to double at a time.
constexpr Index kTokensPerTile = 512;

}  // namespace

ValueMoments::ValueMoments(const ValueBuffer& values, std::int64_t first_dim, std::int64_t num_dims)
    : first_dim_(first_dim), num_sources_(values.num_sources()) {
  if (first_dim < 0 || num_dims < 1 || first_dim + num_dims > values.head_dim()) {
    throw InvalidArgument("value moments: dimensions {} to {} are out of range for {} dimensions",
                          first_dim, first_dim + num_dims, values.head_dim());
  }
  const auto count = static_cast<std::size_t>(num_dims);
  sum_.assign(count, VectorD::Zero(num_sources_));
  products_.assign(count, MatrixD::Zero(num_sources_, num_sources_));
}

std::int64_t ValueMoments::bytes_per_dim(std::int64_t num_sources) {
  return num_sources * num_sources * static_cast<std::int64_t>(sizeof(double));
}

void ValueMoments::add(const ValueBuffer& values, ThreadPool& pool) {
  if (values.num_sources() != num_sources_) {
    throw InvalidArgument("value moments: need {} buffered heads, got {}", num_sources_,
                          values.num_sources());
  }
  if (values.num_tokens() == 0) return;
  if (count_ == 0) {
    shift_.assign(sum_.size(), VectorD(num_sources_));
    for (std::size_t d = 0; d < sum_.size(); ++d) {
      for (Index j = 0; j < num_sources_; ++j) {
        shift_[d](j) = static_cast<double>(*values.source(first_dim_ + Index(d), j));
      }
    }
  }
  pool.parallel_for(static_cast<std::int64_t>(sum_.size()), [&](std::int64_t index) {
    const auto d = static_cast<std::size_t>(index);
    MatrixD tile;
    for (Index first = 0; first < values.num_tokens(); first += kTokensPerTile) {
      const Index count = std::min(kTokensPerTile, values.num_tokens() - first);
      tile.resize(num_sources_, count);
      for (Index j = 0; j < num_sources_; ++j) {
        const float* const from = values.source(first_dim_ + index, j) + first;
        tile.row(j) =
            Eigen::Map<const Eigen::RowVectorXf>(from, count).cast<double>().array() - shift_[d](j);
      }
      sum_[d] += tile.rowwise().sum();
      products_[d].selfadjointView<Eigen::Lower>().rankUpdate(tile);
    }
  });
  count_ += values.num_tokens();
}

RunningStatistics ValueMoments::routed(const LayerRouter& router) const {
  if (count_ == 0) throw InvalidArgument("value moments: no token was added");
  if (router.num_sources() > num_sources_) {
    throw InvalidArgument("value moments: the router has {} columns, more than {} buffered heads",
                          router.num_sources(), num_sources_);
  }
  const Index heads = router.num_heads();
  const Index sources = router.num_sources();
  const double n = static_cast<double>(count_);
  RunningStatistics statistics;
  statistics.count = count_;
  statistics.mean.resize(heads * static_cast<Index>(sum_.size()));
  statistics.m2.resize(statistics.mean.size());
  for (std::size_t d = 0; d < sum_.size(); ++d) {
    const MatrixD& weights = router.of_dimension(first_dim_ + static_cast<Index>(d));
    const VectorD sum = weights * sum_[d].head(sources);
    const MatrixD products =
        weights * products_[d].topLeftCorner(sources, sources).selfadjointView<Eigen::Lower>();
    const VectorD squares = products.cwiseProduct(weights).rowwise().sum();
    const auto place = static_cast<Index>(d) * heads;
    statistics.mean.segment(place, heads) = weights * shift_[d].head(sources) + sum / n;
    statistics.m2.segment(place, heads) = (squares - sum.cwiseProduct(sum) / n).cwiseMax(0.0);
  }
  return statistics;
}

}  // namespace lime

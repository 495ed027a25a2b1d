// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/routed_values.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"

namespace lime {

LayerRouter::LayerRouter(MatrixD weights) { weights_.push_back(std::move(weights)); }

LayerRouter::LayerRouter(std::vector<MatrixD> per_dimension) : weights_(std::move(per_dimension)) {
  if (weights_.empty())
    throw InvalidArgument("router: needs the weights of at least one dimension");
  for (const MatrixD& weights : weights_) {
    if (weights.rows() == num_heads() && weights.cols() == num_sources()) continue;
    throw InvalidArgument("router: all dimensions must have the shape [{}, {}], got [{}, {}]",
                          num_heads(), num_sources(), weights.rows(), weights.cols());
  }
}

LayerRouter LayerRouter::identity(std::int64_t layer, std::int64_t num_key_value_heads,
                                  std::int64_t num_dims) {
  MatrixD own = MatrixD::Zero(num_key_value_heads, (layer + 1) * num_key_value_heads);
  own.rightCols(num_key_value_heads).setIdentity();
  return LayerRouter(std::vector<MatrixD>(static_cast<std::size_t>(num_dims), own));
}

bool LayerRouter::is_zero() const {
  return std::ranges::all_of(weights_, [](const MatrixD& weights) { return weights.isZero(0.0); });
}

bool LayerRouter::operator==(const LayerRouter& other) const {
  return num_heads() == other.num_heads() && num_sources() == other.num_sources() &&
         weights_ == other.weights_;
}

namespace {

using Eigen::Index;

void check_fits(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens) {
  const Index heads = values.num_key_value_heads();
  const Index sources = router.num_sources();
  throw_if(router.num_heads() != heads || sources < heads || sources % heads != 0 ||
               sources > values.num_sources(),
           "routing: the router must have the shape [{0}, (layer + 1) * {0}] for {1} layers, got "
           "[{2}, {3}]",
           heads, values.num_layers(), router.num_heads(), sources);
  throw_if(router.is_per_dimension() && router.num_dims() != values.head_dim(),
           "routing: the router has weights for {} dimensions, but heads have {}",
           router.num_dims(), values.head_dim());
  throw_if(
      tokens.first < 0 || tokens.count < 0 || tokens.first + tokens.count > values.num_tokens(),
      "routing: tokens {} to {} are out of range for a buffer of {} tokens", tokens.first,
      tokens.first + tokens.count, values.num_tokens());
}

std::vector<Index> sources_read(const LayerRouter& router) {
  std::vector<Index> sources;
  for (Index source = 0; source < router.num_sources(); ++source) {
    for (Index dim = 0; dim < router.num_dims(); ++dim) {
      if ((router.of_dimension(dim).col(source).array() == 0.0).all()) continue;
      sources.push_back(source);
      break;
    }
  }
  return sources;
}

constexpr Index kTokensPerTile = 512;

}  // namespace

ValueBuffer::ValueBuffer(std::int64_t num_layers, std::int64_t num_key_value_heads,
                         std::int64_t head_dim)
    : num_layers_(num_layers), num_heads_(num_key_value_heads), head_dim_(head_dim) {
  throw_if(num_layers < 1 || num_key_value_heads < 1 || head_dim < 1,
           "value buffer: sizes must be >= 1, got {} layers, {} heads of {}", num_layers,
           num_key_value_heads, head_dim);
}

void ValueBuffer::resize(std::int64_t num_tokens) {
  num_tokens_ = num_tokens;
  data_.resize(static_cast<std::size_t>(num_sources() * head_dim_ * num_tokens));
}

void ValueBuffer::set_rows(std::int64_t layer, std::int64_t first_token,
                           const ConstMatrixRef& rows) {
  const Index width = num_heads_ * head_dim_;
  throw_if(
      layer < 0 || layer >= num_layers_ || rows.cols() != width || first_token < 0 ||
          first_token + rows.rows() > num_tokens_,
      "value buffer: rows [{}, {}] of layer {} at token {} do not fit into {} layers of [{}, {}]",
      rows.rows(), rows.cols(), layer, first_token, num_layers_, num_tokens_, width);
  // Tiled, so that neither side of the transposition leaves the cache.
  constexpr Index kTile = 32;
  for (Index first = 0; first < rows.rows(); first += kTile) {
    const Index last = std::min(first + kTile, rows.rows());
    for (Index head = 0; head < num_heads_; ++head) {
      for (Index dim = 0; dim < head_dim_; ++dim) {
        const Index column = head * head_dim_ + dim;
        float* const to = data_.data() +
                          (dim * num_sources() + layer * num_heads_ + head) * num_tokens_ +
                          first_token;
        for (Index t = first; t < last; ++t) to[t] = rows(t, column);
      }
    }
  }
}

std::int64_t ValueBuffer::bytes_for(std::int64_t num_tokens) const {
  return num_sources() * head_dim_ * num_tokens * static_cast<std::int64_t>(sizeof(float));
}

void ValueRouter::route(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens,
                        MatrixD& routed) {
  check_fits(values, router, tokens);
  const Index heads = values.num_key_value_heads();
  const std::vector<Index> active = sources_read(router);
  const auto num_active = static_cast<Index>(active.size());
  weights_.resize(heads, num_active);
  routed.resize(values.head_dim() * heads, tokens.count);
  sources_.resize(num_active, tokens.count);
  for (Index dim = 0; dim < values.head_dim(); ++dim) {
    for (Index i = 0; i < num_active; ++i) {
      const Index source = active[static_cast<std::size_t>(i)];
      weights_.col(i) = router.of_dimension(dim).col(source);
      const float* const from = values.source(dim, source) + tokens.first;
      sources_.row(i) = Eigen::Map<const Eigen::RowVectorXf>(from, tokens.count).cast<double>();
    }
    routed.middleRows(dim * heads, heads).noalias() = weights_ * sources_;
  }
}

MatrixF routed_rows(const MatrixD& routed, std::int64_t num_key_value_heads) {
  const Index head_dim = routed.rows() / num_key_value_heads;
  MatrixF rows(routed.cols(), routed.rows());
  for (Index dim = 0; dim < head_dim; ++dim) {
    for (Index head = 0; head < num_key_value_heads; ++head) {
      rows.col(head * head_dim + dim) =
          routed.row(dim * num_key_value_heads + head).cast<float>().transpose();
    }
  }
  return rows;
}

ValueMoments::ValueMoments(const ValueBuffer& values, std::int64_t first_dim, std::int64_t num_dims)
    : first_dim_(first_dim), num_sources_(values.num_sources()) {
  throw_if(first_dim < 0 || num_dims < 1 || first_dim + num_dims > values.head_dim(),
           "value moments: dimensions {} to {} are out of range for {} dimensions", first_dim,
           first_dim + num_dims, values.head_dim());
  const auto count = static_cast<std::size_t>(num_dims);
  sum_.assign(count, VectorD::Zero(num_sources_));
  products_.assign(count, MatrixD::Zero(num_sources_, num_sources_));
}

std::int64_t ValueMoments::bytes_per_dim(std::int64_t num_sources) {
  return num_sources * num_sources * static_cast<std::int64_t>(sizeof(double));
}

void ValueMoments::add(const ValueBuffer& values, ThreadPool& pool) {
  throw_if(values.num_sources() != num_sources_, "value moments: need {} buffered heads, got {}",
           num_sources_, values.num_sources());
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
  throw_if(router.num_sources() > num_sources_,
           "value moments: the router has {} columns, more than {} buffered heads",
           router.num_sources(), num_sources_);
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

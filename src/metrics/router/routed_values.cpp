// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/routed_values.h"

#include <cmath>
#include <limits>

namespace lime {
namespace {

using Eigen::Index;

/// Returns the norms of the buffered heads that a router reads, [num_sources, tokens].
MatrixD source_norms(const ValueBuffer& values, Index num_sources, TokenRange tokens) {
  MatrixD norms = MatrixD::Zero(num_sources, tokens.count);
  for (Index dim = 0; dim < values.head_dim(); ++dim) {
    for (Index source = 0; source < num_sources; ++source) {
      const float* const from = values.source(dim, source) + tokens.first;
      norms.row(source).array() +=
          Eigen::Map<const Eigen::ArrayXf>(from, tokens.count).cast<double>().square().transpose();
    }
  }
  return norms.cwiseSqrt();
}

/// Returns the sums of the norms of all contributions, [target heads, tokens].
MatrixD contributed_norms(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens) {
  if (!router.is_per_dimension()) {
    return router.of_dimension(0).cwiseAbs() * source_norms(values, router.num_sources(), tokens);
  }
  MatrixD contributed = MatrixD::Zero(router.num_heads(), tokens.count);
  Eigen::ArrayXd squares(tokens.count);
  for (Index head = 0; head < router.num_heads(); ++head) {
    for (Index source = 0; source < router.num_sources(); ++source) {
      squares.setZero();
      for (Index dim = 0; dim < values.head_dim(); ++dim) {
        const float* const from = values.source(dim, source) + tokens.first;
        const double weight = router.of_dimension(dim)(head, source);
        squares +=
            (weight * Eigen::Map<const Eigen::ArrayXf>(from, tokens.count).cast<double>()).square();
      }
      contributed.row(head).array() += squares.sqrt().transpose();
    }
  }
  return contributed;
}

void check_routed_head(const LayerRouter& router, std::int64_t head, std::int64_t layers) {
  throw_if(head < 0 || head >= router.num_heads(),
           "routed_attention: head must be in [0, {}), got {}", router.num_heads(), head);
  throw_if(layers * router.num_heads() != router.num_sources(),
           "routed_attention: the router reads {} layers, got values of {} layers",
           router.num_sources() / router.num_heads(), layers);
}

/// Adds the contribution of buffered head `source` to a head, [num_keys, head_dim], to `read`.
void add_routed(const LayerRouter& router, std::int64_t head, std::int64_t source,
                const Eigen::Ref<const MatrixD>& values, MatrixD& read) {
  for (Eigen::Index c = 0; c < values.cols(); ++c) {
    read.col(c) += router.of_dimension(c)(head, source) * values.col(c);
  }
}

void divide_by_sum(MatrixD& shares) {
  const double sum = shares.sum();
  if (sum > 0.0) shares /= sum;
}

void standardize_features(MatrixD& features, const Standardization& standardization) {
  throw_if(standardization.mean.size() != features.rows(),
           "spectrum: expected {} means, one per feature, got {}", features.rows(),
           standardization.mean.size());
  for (Index f = 0; f < features.rows(); ++f) {
    features.row(f).array() -= standardization.mean(f);
    features.row(f) *= 1.0 / standardization.divisor(f);
  }
}

[[noreturn]] void refuse_not_finite(const MatrixD& features) {
  for (Index token = 0; token < features.cols(); ++token) {
    for (Index f = 0; f < features.rows(); ++f) {
      if (std::isfinite(features(f, token))) continue;
      throw InvalidArgument(
          "spectrum: values must be finite, got {} at token {}; check the model for overflow, or "
          "capture in a wider type",
          features(f, token), token);
    }
  }
  throw InvalidArgument("spectrum: values are too large to square");
}

double effective_rank(std::span<const double> eigenvalues) {
  std::vector<double> singular_values;
  double sum = 0.0;
  for (const double value : eigenvalues) {
    singular_values.push_back(std::sqrt(std::max(value, 0.0)));
    sum += singular_values.back();
  }
  return std::exp(entropy_of_spectrum(singular_values, sum, 1.0));
}

}  // namespace

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

void ValueRouter::route_tokens(const ValueBuffer& values, const MatrixD& weights, TokenRange tokens,
                               MatrixD& routed) {
  const Index heads = values.num_key_value_heads();
  const Index width = weights.rows() / heads;
  const bool mixes_heads = width == values.num_sources();
  throw_if(
      weights.rows() != heads * width || weights.cols() != tokens.count || tokens.first < 0 ||
          tokens.first + tokens.count > values.num_tokens() ||
          (!mixes_heads && width != values.num_layers()),
      "routing: the weights of {} tokens of {} must be [{} * {}, {}] or [{} * {}, {}], got [{}, "
      "{}]",
      tokens.count, values.num_tokens(), heads, values.num_sources(), tokens.count, heads,
      values.num_layers(), tokens.count, weights.rows(), weights.cols());
  routed.setZero(values.head_dim() * heads, tokens.count);
  for (Index dim = 0; dim < values.head_dim(); ++dim) {
    for (Index head = 0; head < heads; ++head) {
      for (Index i = 0; i < width; ++i) {
        const float* const from =
            values.source(dim, mixes_heads ? i : i * heads + head) + tokens.first;
        routed.row(dim * heads + head) +=
            weights.row(head * width + i)
                .cwiseProduct(
                    Eigen::Map<const Eigen::RowVectorXf>(from, tokens.count).cast<double>());
      }
    }
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

CancellationIndex::CancellationIndex(std::int64_t num_key_value_heads)
    : sum_(VectorD::Zero(num_key_value_heads)),
      count_(decltype(count_)::Zero(num_key_value_heads)) {}

void CancellationIndex::add(const ValueBuffer& values, const LayerRouter& router,
                            TokenRange tokens) {
  router_.route(values, router, tokens, routed_);
  const Index heads = router.num_heads();
  const MatrixD contributed = contributed_norms(values, router, tokens);
  MatrixD remaining = MatrixD::Zero(heads, tokens.count);
  for (Index dim = 0; dim < values.head_dim(); ++dim) {
    remaining.array() += routed_.middleRows(dim * heads, heads).array().square();
  }
  remaining = remaining.cwiseSqrt();
  for (Index head = 0; head < heads; ++head) {
    for (Index token = 0; token < tokens.count; ++token) {
      const double all = contributed(head, token);
      if (!(all > 0.0)) continue;
      // Rounding may leave slightly more than 100% of a single contribution.
      sum_(head) += std::max(0.0, 1.0 - remaining(head, token) / all);
      ++count_(head);
    }
  }
}

void CancellationIndex::merge(const CancellationIndex& other) {
  sum_ += other.sum_;
  count_ += other.count_;
}

VectorD CancellationIndex::mean() const {
  VectorD result(sum_.size());
  for (Index head = 0; head < sum_.size(); ++head) {
    result(head) = count_(head) > 0 ? sum_(head) / static_cast<double>(count_(head))
                                    : std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

MatrixD routed_attention(std::span<const double> pattern, const LayerRouter& router,
                         std::int64_t head, std::span<const MatrixF> values) {
  const auto layers = static_cast<std::int64_t>(values.size());
  check_routed_head(router, head, layers);
  const auto num_keys = static_cast<Eigen::Index>(pattern.size());
  MatrixD shares(layers, num_keys);
  for (std::int64_t m = 0; m < layers; ++m) {
    const MatrixF& layer = values[static_cast<std::size_t>(m)];
    const Eigen::Index head_dim = layer.cols() / router.num_heads();
    const bool fits_dims = !router.is_per_dimension() || router.num_dims() == head_dim;
    throw_if(
        layer.rows() != num_keys || layer.cols() % router.num_heads() != 0 || !fits_dims,
        "routed_attention: values of layer {} must have the shape [{}, {} * head_dim], got [{}, "
        "{}]",
        m, num_keys, router.num_heads(), layer.rows(), layer.cols());
    MatrixD read = MatrixD::Zero(num_keys, head_dim);
    for (std::int64_t j = 0; j < router.num_heads(); ++j) {
      add_routed(router, head, m * router.num_heads() + j,
                 layer.middleCols(j * head_dim, head_dim).cast<double>(), read);
    }
    for (Eigen::Index k = 0; k < num_keys; ++k) {
      shares(m, k) = pattern[static_cast<std::size_t>(k)] * read.row(k).norm();
    }
  }
  divide_by_sum(shares);
  return shares;
}

MatrixD routed_attention_of_scales(std::span<const double> pattern, const LayerRouter& router,
                                   std::int64_t head, const MatrixD& scales) {
  check_routed_head(router, head, scales.rows());
  throw_if(scales.cols() != router.num_heads(),
           "routed_attention: needs a scale for each of {} heads, got {}", router.num_heads(),
           scales.cols());
  MatrixD shares(scales.rows(), static_cast<Eigen::Index>(pattern.size()));
  for (Eigen::Index m = 0; m < scales.rows(); ++m) {
    double weight = 0.0;
    for (Eigen::Index j = 0; j < scales.cols(); ++j) {
      const Eigen::Index source = m * scales.cols() + j;
      double mean = 0.0;
      for (std::int64_t c = 0; c < router.num_dims(); ++c) {
        mean += router.of_dimension(c)(head, source) / static_cast<double>(router.num_dims());
      }
      weight += std::abs(mean) * scales(m, j);
    }
    for (Eigen::Index k = 0; k < shares.cols(); ++k) {
      shares(m, k) = pattern[static_cast<std::size_t>(k)] * weight;
    }
  }
  divide_by_sum(shares);
  return shares;
}

std::optional<SpectrumSummary> SpectrumCalculator::compute(
    MatrixD& features, const std::optional<Standardization>& standardization,
    std::span<const double> orders) {
  if (standardization) standardize_features(features, *standardization);
  gram_builder_.smaller_gram(linalg::affine_rows(features), gram_);
  const double total = linalg::trace(gram_);
  if (!std::isfinite(total)) refuse_not_finite(features);
  if (!(total > 0.0)) return std::nullopt;
  const std::span<const double> spectrum = eigenvalues_.compute(gram_);
  SpectrumSummary summary;
  for (const double alpha : orders) {
    summary.entropies.push_back(entropy_of_spectrum(spectrum, total, alpha));
  }
  summary.effective_rank = effective_rank(spectrum);
  return summary;
}

}  // namespace lime

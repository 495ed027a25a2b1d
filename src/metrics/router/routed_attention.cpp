// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/routed_attention.h"

#include <cmath>
#include <cstddef>

#include "core/errors.h"

namespace lime {
namespace {

using Eigen::Index;

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

}  // namespace

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

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/value_router.h"

#include <cstddef>
#include <vector>

#include "core/errors.h"

namespace lime {
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

}  // namespace lime

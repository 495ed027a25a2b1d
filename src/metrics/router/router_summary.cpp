// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_summary.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "core/errors.h"

namespace lime {
namespace {

using Eigen::Index;

RouterHeadSummary summarize_head(const MatrixD& magnitudes, const MatrixD& signed_weights,
                                 Index layer, Index head) {
  const Index heads = magnitudes.rows();
  RouterHeadSummary summary;
  summary.layer = layer;
  summary.head = head;
  const double total = magnitudes.row(head).sum();
  if (total <= 0.0) return summary;
  double negative = 0.0;
  for (Index column = 0; column < magnitudes.cols(); ++column) {
    const double share = magnitudes(head, column) / total;
    const Index source = column / heads;
    if (share > 0.0) summary.entropy -= share * std::log(share);
    summary.mean_depth += share * static_cast<double>(layer - source);
    if (source == 0) summary.share_embedding += share;
    if (source <= 1) summary.share_first_two += share;
    if (source == layer - 1) summary.share_previous += share;
    if (source == layer) summary.share_own += share;
    if (signed_weights(head, column) < 0.0) negative += share;
  }
  summary.share_negative = negative;
  summary.effective_sources = std::exp(summary.entropy);
  return summary;
}

}  // namespace

std::vector<RouterHeadSummary> summarize_routers(const Routers& routers, const HeadScales& scales) {
  check_scales(routers, scales);
  std::vector<RouterHeadSummary> summaries;
  for (Index layer = 0; layer < routers.num_layers(); ++layer) {
    const MatrixD magnitudes = weighted_magnitudes(routers, layer, scales);
    for (Index head = 0; head < routers.num_key_value_heads; ++head) {
      summaries.push_back(summarize_head(
          magnitudes, routers.weights[static_cast<std::size_t>(layer)], layer, head));
    }
  }
  return summaries;
}

std::vector<RouterDrift> router_drift(const Routers& routers) {
  routers.validate();
  const Index heads = routers.num_key_value_heads;
  const MatrixD identity = MatrixD::Identity(heads, heads);
  std::vector<RouterDrift> drifts;
  for (const MatrixD& router : routers.weights) {
    RouterDrift drift;
    drift.own_distance = (router.rightCols(heads) - identity).norm() / identity.norm();
    const MatrixD others = router.leftCols(router.cols() - heads);
    const double start = 1.0 / std::sqrt(static_cast<double>(router.cols()));
    drift.others_ratio = others.size() == 0 ? std::numeric_limits<double>::quiet_NaN()
                                            : std::sqrt(others.array().square().mean()) / start;
    drifts.push_back(drift);
  }
  return drifts;
}

VectorD router_distance(const Routers& routers, const Routers& reference) {
  routers.validate();
  reference.validate();
  throw_if(routers.num_layers() != reference.num_layers() ||
               routers.num_key_value_heads != reference.num_key_value_heads,
           "router: both routers must have {} layers and {} heads, got {} and {}",
           routers.num_layers(), routers.num_key_value_heads, reference.num_layers(),
           reference.num_key_value_heads);
  VectorD distances(routers.num_layers());
  for (Index layer = 0; layer < routers.num_layers(); ++layer) {
    const MatrixD& weights = routers.weights[static_cast<std::size_t>(layer)];
    const MatrixD& other = reference.weights[static_cast<std::size_t>(layer)];
    const double norm = other.norm();
    distances(layer) = (weights - other).norm() / (norm > 0.0 ? norm : 1.0);
  }
  return distances;
}

}  // namespace lime

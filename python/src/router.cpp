// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/router_maps.h"
#include "metrics/router/router_summary.h"
#include "metrics/router/routers.h"

namespace lime::python {
namespace {

MatrixD matrix_of(const RowsD& rows) {
  check_layout(rows);
  return Eigen::Map<const MatrixD, 0, Eigen::OuterStride<>>(
      rows.data(), static_cast<Eigen::Index>(rows.shape(0)),
      static_cast<Eigen::Index>(rows.shape(1)), Eigen::OuterStride<>(rows.stride(0)));
}

Routers routers_of(const std::vector<RowsD>& weights) {
  if (weights.empty()) throw InvalidArgument("router: needs the weights of at least one layer");
  Routers routers{.num_key_value_heads = static_cast<std::int64_t>(weights.front().shape(0))};
  for (const RowsD& layer : weights) routers.weights.push_back(matrix_of(layer));
  routers.validate();
  return routers;
}

HeadScales scales_of(const Routers& routers, const std::optional<RowsD>& scales) {
  return scales ? matrix_of(*scales) : unit_scales(routers);
}

nb::dict to_dict(const RouterHeadSummary& head) {
  nb::dict result;
  result["layer"] = head.layer;
  result["head"] = head.head;
  result["entropy"] = head.entropy;
  result["effective_sources"] = head.effective_sources;
  result["mean_depth"] = head.mean_depth;
  result["share_embedding"] = head.share_embedding;
  result["share_first_two"] = head.share_first_two;
  result["share_previous"] = head.share_previous;
  result["share_own"] = head.share_own;
  result["share_negative"] = head.share_negative;
  return result;
}

/// Computes all maps and summaries of routers.
nb::dict router(const std::vector<RowsD>& weights, const std::optional<RowsD>& head_scales) {
  const Routers routers = routers_of(weights);
  const HeadScales scales = scales_of(routers, head_scales);
  nb::list head_maps;
  for (MatrixD& map : router_head_maps(routers, scales)) {
    head_maps.append(matrix_to_numpy(std::move(map)));
  }
  nb::list heads;
  for (const RouterHeadSummary& head : summarize_routers(routers, scales)) {
    heads.append(to_dict(head));
  }
  std::vector<double> own_distance;
  std::vector<double> others_ratio;
  for (const RouterDrift& drift : router_drift(routers)) {
    own_distance.push_back(drift.own_distance);
    others_ratio.push_back(drift.others_ratio);
  }
  nb::dict result;
  result["mean_map"] = matrix_to_numpy(router_mean_map(routers, scales));
  result["head_maps"] = head_maps;
  result["heads"] = heads;
  result["own_distance"] = to_numpy(std::move(own_distance));
  result["others_ratio"] = to_numpy(std::move(others_ratio));
  return result;
}

}  // namespace

void bind_router(nb::module_& module) {
  module.def("router", router, nb::arg("weights"), nb::arg("head_scales").none());
}

}  // namespace lime::python

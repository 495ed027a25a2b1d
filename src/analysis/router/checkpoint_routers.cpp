// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/checkpoint_routers.h"

#include <cmath>

#include "analysis/router/routers.h"

namespace lime {

CheckpointRouters::CheckpointRouters(const Checkpoint& checkpoint)
    : CheckpointRouters(routers_of(checkpoint)) {}

CheckpointRouters::CheckpointRouters(Routers routers) : routers_(std::move(routers)) {
  routers_.validate();
  is_routed_ = routers_.weights != Routers::identity(num_layers(), num_heads()).weights;
  for (const RouterQuantity quantity : {RouterQuantity::kShare, RouterQuantity::kMagnitude,
                                        RouterQuantity::kSignedShare, RouterQuantity::kSigned}) {
    layer_values_[static_cast<std::size_t>(quantity)] = router_layer_values(routers_, quantity);
  }
}

bool CheckpointRouters::has_shape_of(const CheckpointRouters& other) const {
  return num_layers() == other.num_layers() && num_heads() == other.num_heads();
}

RouterWeight CheckpointRouters::weight(std::int64_t layer, std::int64_t head,
                                       std::int64_t source_layer, std::int64_t source_head) const {
  const std::int64_t heads = num_heads();
  throw_if(layer < 0 || layer >= num_layers() || source_layer < 0 || source_layer > layer ||
               head < 0 || head >= heads || source_head < 0 || source_head >= heads,
           "router: head {} of layer {} does not read head {} of layer {}", head, layer,
           source_head, source_layer);
  const MatrixD& router = routers_.weights[static_cast<std::size_t>(layer)];
  RouterWeight found;
  found.weight = router(head, source_layer * heads + source_head);
  found.num_sources = router.cols();
  const double sum = router.row(head).cwiseAbs().sum();
  found.share = sum > 0.0 ? std::abs(found.weight) / sum : 0.0;
  for (Eigen::Index j = 0; j < router.cols(); ++j) {
    if (std::abs(router(head, j)) > std::abs(found.weight)) ++found.rank;
  }
  return found;
}

}  // namespace lime

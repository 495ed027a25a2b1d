// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/routers.h"

#include <cstddef>
#include <utility>

#include "core/errors.h"

namespace lime {

const MatrixD& Routers::of(std::int64_t layer) const {
  throw_if(layer < 0 || layer >= num_layers(), "router: layer {} does not exist, expected 0 to {}",
           layer, num_layers() - 1);
  return weights[static_cast<std::size_t>(layer)];
}

void Routers::validate() const {
  throw_if(num_key_value_heads < 1, "router: num_key_value_heads must be >= 1, got {}",
           num_key_value_heads);
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    const MatrixD& router = weights[static_cast<std::size_t>(layer)];
    const std::int64_t columns = (layer + 1) * num_key_value_heads;
    throw_if(router.rows() != num_key_value_heads || router.cols() != columns,
             "router: layer {} must have the shape [{}, {}], got [{}, {}]", layer,
             num_key_value_heads, columns, router.rows(), router.cols());
    throw_if(!router.allFinite(), "router: layer {} contains a weight that is not finite", layer);
  }
}

Routers Routers::identity(std::int64_t num_layers, std::int64_t num_key_value_heads) {
  Routers routers;
  routers.num_key_value_heads = num_key_value_heads;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    MatrixD router = MatrixD::Zero(num_key_value_heads, (layer + 1) * num_key_value_heads);
    router.rightCols(num_key_value_heads).setIdentity();
    routers.weights.push_back(std::move(router));
  }
  return routers;
}

}  // namespace lime

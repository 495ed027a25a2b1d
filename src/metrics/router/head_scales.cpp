// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/head_scales.h"

#include <cstddef>

#include "core/errors.h"

namespace lime {

HeadScales unit_scales(const Routers& routers) {
  return HeadScales::Ones(routers.num_layers(), routers.num_key_value_heads);
}

void check_scales(const Routers& routers, const HeadScales& scales) {
  routers.validate();
  throw_if(scales.rows() != routers.num_layers() || scales.cols() != routers.num_key_value_heads,
           "router: scales must have the shape [{}, {}], got [{}, {}]", routers.num_layers(),
           routers.num_key_value_heads, scales.rows(), scales.cols());
}

MatrixD weighted_magnitudes(const Routers& routers, std::int64_t layer, const HeadScales& scales) {
  const Eigen::Index heads = routers.num_key_value_heads;
  MatrixD magnitudes = routers.weights[static_cast<std::size_t>(layer)].cwiseAbs();
  for (Eigen::Index source = 0; source <= layer; ++source) {
    for (Eigen::Index head = 0; head < heads; ++head) {
      magnitudes.col(source * heads + head) *= scales(source, head);
    }
  }
  return magnitudes;
}

}  // namespace lime

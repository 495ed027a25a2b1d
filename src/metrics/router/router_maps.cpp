// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_maps.h"

#include <limits>

#include "core/errors.h"

namespace lime {
namespace {

using Eigen::Index;

MatrixD sum_over_source_heads(const MatrixD& magnitudes, Index heads) {
  const Index layers = magnitudes.cols() / heads;
  MatrixD sums(magnitudes.rows(), layers);
  for (Index source = 0; source < layers; ++source) {
    sums.col(source) = magnitudes.middleCols(source * heads, heads).rowwise().sum();
  }
  return sums;
}

void normalize_rows(MatrixD& matrix) {
  for (Index row = 0; row < matrix.rows(); ++row) {
    const double total = matrix.row(row).sum();
    if (total > 0.0) matrix.row(row) /= total;
  }
}

bool is_signed(RouterQuantity quantity) {
  return quantity == RouterQuantity::kSigned || quantity == RouterQuantity::kSignedShare;
}

bool is_share(RouterQuantity quantity) {
  return quantity == RouterQuantity::kShare || quantity == RouterQuantity::kSignedShare;
}

MatrixD weight_values(const MatrixD& router, RouterQuantity quantity) {
  MatrixD values = is_signed(quantity) ? router : MatrixD(router.cwiseAbs());
  if (!is_share(quantity)) return values;
  for (Index h = 0; h < values.rows(); ++h) {
    const double sum = router.row(h).cwiseAbs().sum();
    if (sum > 0.0) values.row(h) /= sum;
  }
  return values;
}

}  // namespace

MatrixD router_mean_map(const Routers& routers, const HeadScales& scales) {
  check_scales(routers, scales);
  const Index layers = routers.num_layers();
  MatrixD map = MatrixD::Zero(layers, layers);
  for (Index layer = 0; layer < layers; ++layer) {
    const MatrixD magnitudes = weighted_magnitudes(routers, layer, scales);
    map.row(layer).head(layer + 1) =
        sum_over_source_heads(magnitudes, routers.num_key_value_heads).colwise().sum();
  }
  normalize_rows(map);
  return map;
}

std::vector<MatrixD> router_head_maps(const Routers& routers, const HeadScales& scales) {
  check_scales(routers, scales);
  std::vector<MatrixD> maps;
  for (Index layer = 0; layer < routers.num_layers(); ++layer) {
    maps.push_back(sum_over_source_heads(weighted_magnitudes(routers, layer, scales),
                                         routers.num_key_value_heads));
    normalize_rows(maps.back());
  }
  return maps;
}

MatrixD router_layer_values(const Routers& routers, RouterQuantity quantity) {
  const Index layers = routers.num_layers();
  MatrixD values = MatrixD::Constant(layers, layers, std::numeric_limits<double>::quiet_NaN());
  const RouterQuantity sums =
      is_signed(quantity) ? RouterQuantity::kSigned : RouterQuantity::kMagnitude;
  for (Index l = 0; l < layers; ++l) {
    auto row = values.row(l).head(l + 1);
    row = router_head_values(routers, l, sums).colwise().mean();
    const double whole = routers.of(l).cwiseAbs().rowwise().sum().mean();
    if (is_share(quantity) && whole > 0.0) row /= whole;
  }
  return values;
}

MatrixD router_head_values(const Routers& routers, std::int64_t layer, RouterQuantity quantity) {
  const MatrixD values = weight_values(routers.of(layer), quantity);
  return sum_over_source_heads(values, values.rows());
}

MatrixD router_block_values(const Routers& routers, std::int64_t layer, std::int64_t source_layer,
                            RouterQuantity quantity) {
  const MatrixD values = weight_values(routers.of(layer), quantity);
  throw_if(source_layer < 0 || source_layer > layer,
           "router: layer {} reads layers 0 to {}, got {}", layer, layer, source_layer);
  return values.middleCols(source_layer * values.rows(), values.rows());
}

}  // namespace lime

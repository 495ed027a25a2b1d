// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/layer_router.h"

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

}  // namespace lime

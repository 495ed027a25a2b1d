// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/decoders/decoder_weights.h"

namespace lime {

/// Applies linear layers that share the same input x, with gradients.
///
///   y_i = x W_i^T + b_i;    dx = sum_i dy_i W_i,    dW_i = dy_i^T x,    db_i = sum over rows of
///   dy_i
///
/// On the CPU each product is one of matrix_product.h or linear.h, and dx is accumulated in place.
/// Elsewhere these are LibTorch's linear layers.
/// @param x  [batch, seq, in_features]
/// @return for each layer [batch, seq, out_features]
std::vector<at::Tensor> linear_with_gradients(const at::Tensor& x,
                                              const std::vector<const LinearWeights*>& layers);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace lime {

/// Linear layer, perhaps of several parts; or a norm, undefined if it has no parameters.
struct LinearWeights {
  at::Tensor weight;  ///< [out_features, in_features], all parts concatenated by rows
  at::Tensor bias;    ///< [out_features], or undefined
};
using NormWeights = LinearWeights;

/// Weights of one expert; gate and up share one matrix.
struct ExpertWeights {
  LinearWeights gate_up, gate, up, down;
};

}  // namespace lime

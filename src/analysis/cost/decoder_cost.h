// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "checkpoint/model_config.h"

namespace lime {

struct DecoderCost {
  std::int64_t parameters = 0;
  std::int64_t router_parameters = 0;  ///< thereof weights that mix layers or streams
  /// Operations of one forward pass over the sequence, logits included, and their breakdown.
  double multiply_accumulates = 0.0;
  double linear = 0.0;              ///< projections, feed-forward and output layer
  double attention = 0.0;           ///< scaled dot products and softmax
  double mixing = 0.0;              ///< routers, averages over depth, hyper-connections
  double elementwise = 0.0;         ///< norms, rotary embedding, activations, residual sums
  double per_token = 0.0;           ///< multiply_accumulates / num_tokens
  std::int64_t cache_elements = 0;  ///< numbers in the key-value cache after the sequence
};

/// Computes the parameters and operations of a forward pass over one sequence.
///
/// Operations are counted as in the LIMe paper's code (utils/flops_counter.py over fvcore): a
/// matrix product counts multiply-accumulates; scaled dot-product attention 4 H T^2 D + 3 H T^2,
/// also where windows leave out products; activation, sum, product, negation, tanh and softmax 1
/// per output element, square 2, reciprocal root 6, mean 1 per input element; the embedding and
/// biases 0.
/// @param num_tokens  length of the sequence, >= 1.
/// @throws FormatError      as ModelConfig::validate().
/// @throws InvalidArgument  if num_tokens < 1.
/// Source: docs/numerics.md, "Cost"; it reproduces the efficiency table of the paper.
DecoderCost decoder_cost(const ModelConfig& config, std::int64_t num_tokens = 2048);

}  // namespace lime

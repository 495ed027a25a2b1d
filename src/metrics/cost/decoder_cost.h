// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// Decoders with a closed-form cost.
enum class CostedDecoder { kLlama, kLime, kDenseFormer, kHyperConnections, kResFormer, kSvFormer };

template <>
struct EnumNames<CostedDecoder> {
  static constexpr std::array<std::pair<CostedDecoder, std::string_view>, 6> kNames = {{
      {CostedDecoder::kLlama, "llama"},
      {CostedDecoder::kLime, "lime"},
      {CostedDecoder::kDenseFormer, "denseformer"},
      {CostedDecoder::kHyperConnections, "hyper_connections"},
      {CostedDecoder::kResFormer, "resformer"},
      {CostedDecoder::kSvFormer, "svformer"},
  }};
};

/// Configuration of a LIMe's routers.
struct CostedRouter {
  /// Layers that the router of each layer reads, itself included, [num_hidden_layers]; empty: all
  /// layers up to its own.
  std::vector<std::int64_t> layers_read = {};
  bool head_mixing = true;     ///< a routed head reads all buffered heads, not only its own
  bool per_dimension = false;  ///< one weight per dimension of a head instead of one per head
  bool dynamic = false;        ///< weights computed from the token
  bool has_parameters = true;  ///< false: fixed averages
};

/// Sizes that determine the cost of a decoder; names as in config.json.
struct DecoderShape {
  CostedDecoder decoder = CostedDecoder::kLlama;
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  bool tie_word_embeddings = true;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  CostedRouter router = {};  ///< of a LIMe
  /// DenseFormer: every `dwa_dilation`-th earlier output is averaged, after every `dwa_period`-th
  /// layer; both >= 1.
  std::int64_t dwa_dilation = 1;
  std::int64_t dwa_period = 1;
  /// Hyper-Connections: number of residual streams, >= 1, and whether their weights depend on the
  /// input.
  std::int64_t hyper_rate = 4;
  bool hyper_dynamic = true;
  /// Maximum number of positions in the cache of each layer (a sliding window),
  /// [num_hidden_layers]; 0, or an empty list: unlimited. Does not affect the operations: the
  /// paper's code counts every product of a query with a key.
  std::vector<std::int64_t> cached_positions = {};

  /// @throws InvalidArgument  naming the first invalid size.
  void validate() const;
};

/// Cost of one decoder.
struct DecoderCost {
  std::int64_t parameters = 0;
  std::int64_t router_parameters = 0;  ///< thereof weights that mix layers or streams
  /// Operations of one forward pass over the sequence, logits included, and their breakdown.
  double multiply_accumulates = 0.0;
  double linear = 0.0;              ///< projections, feed-forward and output layer
  double attention = 0.0;           ///< scaled dot products and softmax
  double mixing = 0.0;              ///< routers, averages over depth, hyper-connections
  double elementwise = 0.0;         ///< norms, rotary embedding, SwiGLU, residual sums
  double per_token = 0.0;           ///< multiply_accumulates / num_tokens
  std::int64_t cache_elements = 0;  ///< numbers in the key-value cache after the sequence
};

/// Computes the parameters and operations of a forward pass over one sequence.
///
/// Operations are counted as in the LIMe paper's code (utils/flops_counter.py over fvcore): a
/// matrix product counts output elements times the inner dimension, i.e. multiply-accumulates;
/// scaled dot-product attention 4 H T^2 D + 3 H T^2; SiLU, sum, product, negation and softmax 1 per
/// output element, square 2, reciprocal root 6, mean 1 per input element; the embedding 0.
///
/// @param num_tokens  length of the sequence, >= 1.
/// @throws InvalidArgument  as DecoderShape::validate().
/// Source: docs/numerics.md, "Cost"; it reproduces the efficiency table of the paper.
DecoderCost decoder_cost(const DecoderShape& shape, std::int64_t num_tokens = 2048);

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "metrics/cost/decoder_cost.h"

#include <algorithm>
#include <string>

#include "core/errors.h"

namespace lime {
namespace {

using Count = std::int64_t;

/// Parameters of the linear layers of one decoder layer, and of their biases.
struct LayerSizes {
  Count query_width = 0;
  Count key_value_width = 0;
  Count weights = 0;
  Count biases = 0;
};

LayerSizes layer_sizes(const DecoderShape& shape, Count layer) {
  LayerSizes sizes;
  sizes.query_width = shape.num_attention_heads * shape.head_dim;
  sizes.key_value_width = shape.num_key_value_heads * shape.head_dim;
  const bool has_values = shape.decoder != CostedDecoder::kSvFormer || layer == 0;
  const Count projected = sizes.query_width + sizes.key_value_width * (has_values ? 2 : 1);
  sizes.weights = shape.hidden_size * (projected + sizes.query_width + 3 * shape.intermediate_size);
  if (shape.qkv_bias) sizes.biases += projected;
  if (shape.o_bias) sizes.biases += shape.hidden_size;
  if (shape.mlp_bias) sizes.biases += 2 * shape.intermediate_size + shape.hidden_size;
  return sizes;
}

/// Returns the number of outputs in DenseFormer's weighted average after layer `layer` (from 0):
/// the embedding is output 0, this layer's output is layer + 1.
Count dwa_sources(const DecoderShape& shape, Count layer) {
  const Count depth = layer + 1;
  if (depth % shape.dwa_period != 0) return 0;
  return depth / shape.dwa_dilation + 1;
}

/// Returns the parameters of one Hyper-Connections module; a layer has two, around attention and
/// MLP.
Count hyper_module_parameters(const DecoderShape& shape) {
  const Count rate = shape.hyper_rate;
  const Count statics = rate * (rate + 1) + rate;
  const Count dynamics = shape.hidden_size * (rate + 1) + shape.hidden_size + 2;
  return statics + (shape.hyper_dynamic ? dynamics : 0);
}

/// Returns the buffered heads that one target head of a LIMe reads; layer 0 has no router.
Count routed_sources(const DecoderShape& shape, Count layer) {
  const CostedRouter& router = shape.router;
  if (layer == 0) return 0;
  const Count layers =
      router.layers_read.empty() ? layer + 1 : router.layers_read[static_cast<std::size_t>(layer)];
  return layers * (router.head_mixing ? shape.num_key_value_heads : 1);
}

Count router_parameters(const DecoderShape& shape, Count layer) {
  const Count sources = routed_sources(shape, layer);
  const Count heads = shape.num_key_value_heads;
  if (sources == 0 || !shape.router.has_parameters) return 0;
  if (shape.router.dynamic) {
    // A query per target head and a key per source.
    return heads * shape.head_dim * shape.hidden_size + sources * shape.head_dim;
  }
  return heads * sources * (shape.router.per_dimension ? shape.head_dim : 1);
}

/// Returns the operations per token: the product of weights with keys and with values, and for a
/// dynamic router its queries, their products with the keys, scaling and softmax.
double router_operations(const DecoderShape& shape, Count layer) {
  const double key_value_width = double(shape.num_key_value_heads * shape.head_dim);
  const double sources = double(routed_sources(shape, layer));
  double total = sources * 2.0 * key_value_width;
  if (shape.router.dynamic && sources > 0.0) {
    total += key_value_width * double(shape.hidden_size) + sources * key_value_width +
             2.0 * sources * double(shape.num_key_value_heads);
  }
  return total;
}

Count mixing_parameters(const DecoderShape& shape) {
  const Count layers = shape.num_hidden_layers;
  Count total = 0;
  for (Count layer = 0; layer < layers; ++layer) {
    switch (shape.decoder) {
      case CostedDecoder::kLime:
        total += router_parameters(shape, layer);
        break;
      case CostedDecoder::kDenseFormer:
        total += dwa_sources(shape, layer);
        break;
      case CostedDecoder::kHyperConnections:
        total += 2 * hyper_module_parameters(shape);
        break;
      case CostedDecoder::kLlama:
      case CostedDecoder::kResFormer:
      case CostedDecoder::kSvFormer:
        break;
    }
  }
  return total;
}

/// Returns the operations of one Hyper-Connections module per token: norm without gain over all
/// streams, the dynamic weights, mixing the streams before the layer and adding its output to each
/// of them.
double hyper_module_operations(const DecoderShape& shape) {
  const double rate = double(shape.hyper_rate);
  const double streams = rate * double(shape.hidden_size);
  const double dynamic = shape.hyper_dynamic ? streams * (4.0 + (rate + 1.0) + 1.0) : 0.0;
  const double width_connection = (rate + 1.0) * streams;
  const double depth_connection = 2.0 * streams;
  return dynamic + width_connection + depth_connection;
}

/// Returns the operations per token that combine layers or streams.
double mixing_operations(const DecoderShape& shape) {
  const double key_value_width = double(shape.num_key_value_heads * shape.head_dim);
  double total = 0.0;
  for (Count layer = 0; layer < shape.num_hidden_layers; ++layer) {
    switch (shape.decoder) {
      case CostedDecoder::kLime:
        total += router_operations(shape, layer);
        break;
      case CostedDecoder::kDenseFormer:
        total += double(dwa_sources(shape, layer) * shape.hidden_size);
        break;
      case CostedDecoder::kHyperConnections:
        total += 2.0 * hyper_module_operations(shape);
        break;
      case CostedDecoder::kResFormer:
        if (layer > 0) total += 3.0 * key_value_width;
        break;
      case CostedDecoder::kLlama:
      case CostedDecoder::kSvFormer:
        break;
    }
  }
  return total;
}

/// Returns the operations of norms, rotary embedding, SwiGLU and residual sums, per token.
double elementwise_operations(const DecoderShape& shape) {
  const bool hyper = shape.decoder == CostedDecoder::kHyperConnections;
  const double width = double(shape.hidden_size);
  const double layers = double(shape.num_hidden_layers);
  const double norm = 4.0 * width + 7.0;  // square 2, mean 1, product 1; sum with eps 1, root 6
  const double gain = width;
  const double rotary =
      3.5 * double((shape.num_attention_heads + shape.num_key_value_heads) * shape.head_dim);
  const double swiglu = 2.0 * double(shape.intermediate_size);
  const double residual = hyper ? 0.0 : 2.0 * width;
  const double layer_norms = 2.0 * (norm + (hyper ? 0.0 : gain));
  return layers * (layer_norms + rotary + swiglu + residual) + norm + gain;
}

/// Returns the number of keys and values of all layers. SVFormer stores only the values of layer 0,
/// which every layer reads.
Count cache_elements(const DecoderShape& shape, Count num_tokens) {
  Count positions = 0;
  for (Count layer = 0; layer < shape.num_hidden_layers; ++layer) {
    Count kept = num_tokens;
    if (!shape.cached_positions.empty()) {
      const Count most = shape.cached_positions[static_cast<std::size_t>(layer)];
      if (most > 0) kept = std::min(kept, most);
    }
    const bool has_values = shape.decoder != CostedDecoder::kSvFormer || layer == 0;
    positions += kept * (has_values ? 2 : 1);
  }
  return positions * shape.num_key_value_heads * shape.head_dim;
}

}  // namespace

void DecoderShape::validate() const {
  const std::pair<const char*, Count> sizes[] = {
      {"vocab_size", vocab_size},
      {"hidden_size", hidden_size},
      {"intermediate_size", intermediate_size},
      {"num_hidden_layers", num_hidden_layers},
      {"num_attention_heads", num_attention_heads},
      {"num_key_value_heads", num_key_value_heads},
      {"head_dim", head_dim},
      {"dwa_dilation", dwa_dilation},
      {"dwa_period", dwa_period},
      {"hyper_rate", hyper_rate},
  };
  for (const auto& [name, value] : sizes) {
    if (value < 1) throw InvalidArgument("cost: {} must be >= 1, got {}", name, value);
  }
  if (num_attention_heads % num_key_value_heads != 0) {
    throw InvalidArgument(
        "cost: num_attention_heads must be a multiple of num_key_value_heads, "
        "got {} and {}",
        num_attention_heads, num_key_value_heads);
  }
  if (!router.layers_read.empty() &&
      static_cast<Count>(router.layers_read.size()) != num_hidden_layers) {
    throw InvalidArgument("cost: router.layers_read must have one entry per layer, got {} for {}",
                          router.layers_read.size(), num_hidden_layers);
  }
  if (!cached_positions.empty() &&
      static_cast<Count>(cached_positions.size()) != num_hidden_layers) {
    throw InvalidArgument("cost: cached_positions must have one entry per layer, got {} for {}",
                          cached_positions.size(), num_hidden_layers);
  }
}

DecoderCost decoder_cost(const DecoderShape& shape, std::int64_t num_tokens) {
  shape.validate();
  if (num_tokens < 1) throw InvalidArgument("cost: num_tokens must be >= 1, got {}", num_tokens);
  const double tokens = double(num_tokens);
  const bool hyper = shape.decoder == CostedDecoder::kHyperConnections;
  const Count embedding = shape.vocab_size * shape.hidden_size;

  DecoderCost cost;
  double linear_weights = double(embedding);  // the output projection counts, tied or not
  cost.parameters = embedding * (shape.tie_word_embeddings ? 1 : 2) + shape.hidden_size;
  for (Count layer = 0; layer < shape.num_hidden_layers; ++layer) {
    const LayerSizes sizes = layer_sizes(shape, layer);
    const Count gains = hyper ? 0 : 2 * shape.hidden_size;
    cost.parameters += sizes.weights + sizes.biases + gains;
    linear_weights += double(sizes.weights);
  }
  cost.router_parameters = mixing_parameters(shape);
  cost.parameters += cost.router_parameters;

  const double heads = double(shape.num_attention_heads);
  const double scores = heads * tokens * tokens;
  cost.linear = tokens * linear_weights;
  cost.attention = double(shape.num_hidden_layers) * scores * (4.0 * double(shape.head_dim) + 3.0);
  cost.mixing = tokens * mixing_operations(shape);
  cost.elementwise = tokens * elementwise_operations(shape);
  cost.multiply_accumulates = cost.linear + cost.attention + cost.mixing + cost.elementwise;
  cost.per_token = cost.multiply_accumulates / tokens;
  cost.cache_elements = cache_elements(shape, num_tokens);
  return cost;
}

}  // namespace lime

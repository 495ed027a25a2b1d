// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/decoder_cost.h"

#include <algorithm>

#include "checkpoint/parameters.h"
#include "checkpoint/router_layout.h"

namespace lime {
namespace {

/// Returns true for weights of matrix products that every token passes.
bool is_product(const ParameterSpec& spec, const ModelConfig& config) {
  if (spec.shape.size() != 2 || is_routing(spec.part)) return false;
  if (spec.part == Part::kEmbedding) return config.tie_word_embeddings;
  return spec.part != Part::kPositions;
}

/// Returns the fraction of tokens that pass a weight: of an expert only those that select it.
double fraction_of_tokens(const ParameterSpec& spec, const ModelConfig& config) {
  if (!is_expert(spec.part)) return 1.0;
  const ExpertsSpec& experts = *config.spec.experts;
  return double(experts.num_experts_per_tok) / double(experts.num_experts);
}

/// Returns the elementwise operations of the MLP of a layer per token: activation and gate; of
/// experts also softmax and the weighted sum of their outputs.
double mlp_operations(const ModelConfig& config, std::int64_t layer) {
  const DecoderSpec& spec = config.spec;
  const double per_value =
      activation_spec(spec.activation).operations + (spec.gated_mlp ? 1.0 : 0.0);
  const double width = double(config.mlp_width(layer));
  const ExpertsSpec* const experts = spec.experts_of(layer);
  if (experts == nullptr) return per_value * width;
  const double of_expert = experts->clamped_gate ? 7.0 : per_value;
  const double selected = double(experts->num_experts_per_tok);
  double total = selected * (of_expert * width + double(config.hidden_size)) +
                 3.0 * (experts->normalizes_weights ? selected : double(experts->num_experts));
  if (experts->shared_intermediate_size) {
    total +=
        per_value * double(*experts->shared_intermediate_size) + double(config.hidden_size) + 1.0;
  }
  return total;
}

/// Returns the operations of a norm over `width` values, without gain and bias: square 2, mean 1,
/// product 1; sum with eps 1, root 6; LayerNorm also subtracts the mean.
double norm_operations(const NormSpec& norm, double width) {
  return (norm.kind == NormKind::kLayerNorm ? 6.0 : 4.0) * width + 7.0;
}

/// Returns the operations of one LIMe router per token: the product of weights with keys and with
/// values, and for a dynamic router its queries, their products with the keys, scaling and softmax.
double router_operations(const ModelConfig& config, std::int64_t layer) {
  if (layer == 0 || config.lime.router == RouterKind::kNone) return 0.0;
  const bool mixes_heads = config.lime.head_mixing && config.lime.router != RouterKind::kAverage;
  const double heads = double(config.num_key_value_heads);
  const double width = heads * double(config.head_dim);
  const double sources =
      double(std::ssize(router_sources(config.lime, layer))) * (mixes_heads ? heads : 1.0);
  double total = sources * 2.0 * width;
  if (config.lime.dynamic) {
    total += width * double(config.hidden_size) + sources * width + 2.0 * sources * heads;
  }
  return total;
}

/// Returns the operations of one Hyper-Connections module per token: norm without gain over all
/// streams, the dynamic weights, mixing the streams before the layer and adding its output to each
/// of them.
double hyper_module_operations(const ModelConfig& config) {
  const double rate = double(config.hyper_connections.rate);
  const double streams = rate * double(config.hidden_size);
  const double dynamic =
      config.hyper_connections.dynamic ? streams * (4.0 + (rate + 1.0) + 1.0) : 0.0;
  return dynamic + (rate + 1.0) * streams + 2.0 * streams;
}

/// Returns the operations of one attention over depth per token: for each source its norm with
/// gain, the product with the query, softmax and the sum.
double attn_res_operations(const ModelConfig& config, std::int64_t part) {
  if (part == 2 * config.num_hidden_layers && config.attn_res.sources == AttnResSources::kStates) {
    return 0.0;
  }
  const std::int64_t blocks = config.attn_res.num_blocks;
  const std::int64_t size = blocks == 0 ? 1 : 2 * config.num_hidden_layers / blocks;
  const bool has_latest = config.attn_res.sources != AttnResSources::kOutputs || part % size != 0;
  const double sources = double(1 + part / size + (has_latest ? 1 : 0));
  const double width = double(config.hidden_size);
  return sources * (norm_operations({}, width) + 3.0 * width + 3.0);
}

/// Returns the operations of one connection of mHC per token: norm and products with fn, the maps
/// with their Sinkhorn iterations, the input, mixing the streams and adding the output to each.
double mhc_operations(const ModelConfig& config) {
  const double count = double(config.mhc.hc_mult);
  const double width = double(config.hidden_size);
  const double logits = (2.0 + count) * count;
  const double steps = 2.0 * double(config.mhc.hc_sinkhorn_iters) - 1.0;
  return norm_operations({}, count * width) + logits * (count * width + 3.0) +
         steps * (2.0 * count * count + count) + count * width * (1.0 + count + 1.0);
}

/// Returns the operations of Depth-Attention per token: mean queries, scores, softmax and the sum.
double depth_attention_operations(const ModelConfig& config, std::int64_t layer) {
  const double sources = double(std::ssize(depth_attention_sources(config, layer)));
  if (sources == 1.0) return 0.0;
  const double dim = double(config.head_dim);
  const double mean = config.num_attention_heads == config.num_key_value_heads
                          ? 0.0
                          : double(config.num_attention_heads) * dim;
  return mean + double(config.num_key_value_heads) * sources * (2.0 * dim + 3.0);
}

/// Returns the operations of MUDD after a layer per token: norm, the generator, and the sums.
double mudd_operations(const ModelConfig& config, const std::vector<ParameterSpec>& specs,
                       std::int64_t layer) {
  const double width = double(config.hidden_size);
  double total = norm_operations({}, width);
  for (const ParameterSpec& spec : specs) {
    if (spec.part != Part::kOutputRouter || spec.layer != layer) continue;
    const double weights = double(element_count(spec.shape));
    if (spec.index == 0) total += weights + double(spec.shape.front());  // w1 and GELU
    if (spec.index == 3) total += weights;
    if (spec.index == 2) total += weights * (1.0 + width);
  }
  return total;
}

double mixing_operations(const ModelConfig& config, const std::vector<ParameterSpec>& specs,
                         std::int64_t layer) {
  switch (config.routing) {
    case DepthRouting::kLime: return router_operations(config, layer);
    case DepthRouting::kDenseFormer:
      return double(num_averaged_outputs(config, layer) * config.hidden_size);
    case DepthRouting::kHyperConnections: return 2.0 * hyper_module_operations(config);
    case DepthRouting::kResFormer:
      return layer == 0 || config.first_layer_values_only
                 ? 0.0
                 : 3.0 * double(config.num_key_value_heads * config.head_dim);
    case DepthRouting::kAttentionResiduals:
      return attn_res_operations(config, 2 * layer) + attn_res_operations(config, 2 * layer + 1) +
             (layer + 1 == config.num_hidden_layers ? attn_res_operations(config, 2 * layer + 2)
                                                    : 0.0);
    case DepthRouting::kManifoldHyperConnections: {
      const double count = double(config.mhc.hc_mult);
      const double head = norm_operations({}, count * double(config.hidden_size)) +
                          count * (count + 1.0) * double(config.hidden_size) + 3.0 * count;
      return 2.0 * mhc_operations(config) + (layer + 1 == config.num_hidden_layers ? head : 0.0);
    }
    case DepthRouting::kDepthAttention: return depth_attention_operations(config, layer);
    case DepthRouting::kMudd: return mudd_operations(config, specs, layer);
    case DepthRouting::kNone: break;
  }
  return 0.0;
}

double gain_operations(const ModelConfig& config, const std::vector<ParameterSpec>& specs) {
  const double groups_of_heads[] = {double(config.num_attention_heads),
                                    double(config.num_key_value_heads)};
  double total = 0.0;
  for (const ParameterSpec& spec : specs) {
    const bool is_head_norm = spec.part == Part::kQueryNorm || spec.part == Part::kKeyNorm;
    if (!is_norm(spec.part)) continue;
    const bool per_head = is_head_norm && config.spec.qk_norm == QkNorm::kPerHead;
    const double times = per_head ? groups_of_heads[spec.part == Part::kKeyNorm ? 1 : 0] : 1.0;
    total += times * double(spec.shape.front());
  }
  return total;
}

double elementwise_operations(const ModelConfig& config) {
  const DecoderSpec& spec = config.spec;
  const double width = double(config.hidden_size);
  const double layers = double(config.num_hidden_layers);
  const double heads = double(config.num_attention_heads + config.num_key_value_heads);
  const double norms = spec.norm_placement == NormPlacement::kBoth ? 4.0
                       : spec.shares_input_norm                    ? 1.0
                                                                   : 2.0;
  double layer = norms * norm_operations(spec.norm, width);
  if (spec.qk_norm == QkNorm::kPerHead || spec.qk_norm == QkNorm::kEachHeadItsOwn) {
    layer += heads * norm_operations(spec.norm, double(config.head_dim));
  } else if (spec.qk_norm == QkNorm::kWholeProjection) {
    layer += norm_operations(spec.norm, double(config.num_attention_heads * config.head_dim)) +
             norm_operations(spec.norm, double(config.num_key_value_heads * config.head_dim));
  }
  const bool has_streams = config.routing == DepthRouting::kHyperConnections ||
                           config.routing == DepthRouting::kManifoldHyperConnections;
  if (!has_streams) layer += 2.0 * width;
  if (spec.residual_multiplier != 1.0) layer += 2.0 * width;
  double total = layers * layer;
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    total += mlp_operations(config, i);
    if (spec.layer(i).rope) total += 3.5 * heads * double(config.rotary_dim());
  }
  if (spec.has_final_norm) total += norm_operations(spec.norm, width);
  if (spec.learned_position_offset) total += width;
  if (spec.embedding_multiplier != 1.0) total += width;
  if (!config.has_head) return total;
  if (spec.logits_divisor != 1.0) total += double(config.vocab_size);
  if (spec.output_bias) total += double(config.vocab_size);
  if (spec.logits_softcap) total += 3.0 * double(config.vocab_size);
  return total;
}

/// Returns the number of keys and values of all layers. SVFormer stores only the values of layer 0.
std::int64_t cache_elements(const ModelConfig& config, std::int64_t num_tokens) {
  std::int64_t positions = 0;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::int64_t kept =
        std::min(num_tokens, config.spec.layer(layer).window.value_or(num_tokens));
    positions += kept * (has_own_values(config, layer) ? 2 : 1);
  }
  return positions * config.num_key_value_heads * config.head_dim;
}

}  // namespace

DecoderCost decoder_cost(const ModelConfig& config, std::int64_t num_tokens) {
  config.validate("cost");
  if (num_tokens < 1) throw InvalidArgument("cost: num_tokens must be >= 1, got {}", num_tokens);
  const double tokens = double(num_tokens);
  DecoderCost cost;
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  double weights = 0.0;
  for (const ParameterSpec& spec : specs) {
    const std::int64_t count = element_count(spec.shape);
    cost.parameters += count;
    if (is_routing(spec.part)) cost.router_parameters += count;
    if (is_product(spec, config)) weights += fraction_of_tokens(spec, config) * double(count);
  }
  double mixing = 0.0;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    mixing += mixing_operations(config, specs, layer);
  }
  const double scores = double(config.num_attention_heads) * tokens * tokens;
  const double per_score =
      4.0 * double(config.head_dim) + 3.0 + (config.spec.attention_softcap ? 3.0 : 0.0);
  cost.linear = tokens * weights;
  cost.attention = double(config.num_hidden_layers) * scores * per_score;
  cost.mixing = tokens * mixing;
  cost.elementwise = tokens * (elementwise_operations(config) + gain_operations(config, specs));
  cost.multiply_accumulates = cost.linear + cost.attention + cost.mixing + cost.elementwise;
  cost.per_token = cost.multiply_accumulates / tokens;
  cost.cache_elements = cache_elements(config, num_tokens);
  return cost;
}

}  // namespace lime

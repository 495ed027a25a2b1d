// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/decoder_weights.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "checkpoint/parameters.h"
#include "core/random.h"
#include "model/decoders/hyper_connections.h"
#include "model/decoders/lime_router.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Approximate cost of a normal variate.
constexpr std::int64_t kOperationsPerDraw = 50;

/// Returns the field of some weights with the index of its parameter.
at::Tensor& field_of(HyperConnectionWeights& weights, int index) {
  const std::array fields = {&weights.static_alpha,  &weights.static_beta,
                             &weights.dynamic_alpha, &weights.dynamic_alpha_scale,
                             &weights.dynamic_beta,  &weights.dynamic_beta_scale};
  return *fields.at(static_cast<std::size_t>(index));
}

at::Tensor& field_of(DepthRouterWeights& weights, int index) {
  const std::array fields = {&weights.projection, &weights.gain, &weights.offset,
                             &weights.expansion};
  return *fields.at(static_cast<std::size_t>(index));
}

at::Tensor& field_of(LinearWeights& weights, int index) {
  return index == 0 ? weights.weight : weights.bias;
}

at::Tensor& field_of(LimeRouterWeights& weights, int index) {
  const std::array fields = {&weights.weights, &weights.q, &weights.keys};
  return *fields.at(static_cast<std::size_t>(index));
}

/// Linear layers and norms of a layer.
constexpr std::pair<Part, LinearWeights LayerWeights::*> kLayerParts[] = {
    {Part::kInputNorm, &LayerWeights::input_norm},
    {Part::kKeyInputNorm, &LayerWeights::key_input_norm},
    {Part::kValueInputNorm, &LayerWeights::value_input_norm},
    {Part::kQuery, &LayerWeights::q},
    {Part::kKey, &LayerWeights::k},
    {Part::kValue, &LayerWeights::v},
    {Part::kQueryNorm, &LayerWeights::q_norm},
    {Part::kKeyNorm, &LayerWeights::k_norm},
    {Part::kAttentionOutput, &LayerWeights::o},
    {Part::kAttentionNorm, &LayerWeights::attention_norm},
    {Part::kMlpNorm, &LayerWeights::mlp_norm},
    {Part::kExpertRouter, &LayerWeights::expert_router},
    {Part::kSharedExpertGate, &LayerWeights::shared_expert_gate},
    {Part::kGate, &LayerWeights::gate},
    {Part::kUp, &LayerWeights::up},
    {Part::kDown, &LayerWeights::down},
    {Part::kOutputNorm, &LayerWeights::output_norm}};

/// Returns the member that stores a parameter.
at::Tensor& field_of(DecoderWeights& all, const ParameterSpec& spec) {
  LayerWeights& layer = all.layers[std::max<std::int64_t>(spec.layer, 0)];
  for (const auto& [part, weights] : kLayerParts) {
    if (spec.part == part) return field_of(layer.*weights, spec.index);
  }
  const auto expert = [&]() -> ExpertWeights& { return layer.experts.at(spec.expert); };
  switch (spec.part) {
    case Part::kExpertGate: return field_of(expert().gate, spec.index);
    case Part::kExpertUp: return field_of(expert().up, spec.index);
    case Part::kExpertDown: return field_of(expert().down, spec.index);
    case Part::kSinks: return layer.sinks;
    case Part::kEmbedding: return all.embedding;
    case Part::kPositions: return all.positions;
    case Part::kProjectIn: return field_of(all.project_in, spec.index);
    case Part::kHyperAttention: return field_of(layer.hyper_attention, spec.index);
    case Part::kHyperFeedForward: return field_of(layer.hyper_feed_forward, spec.index);
    case Part::kAttentionRouter: return field_of(layer.attention_router, spec.index);
    case Part::kFeedForwardRouter: return field_of(layer.feed_forward_router, spec.index);
    case Part::kOutputRouter: return field_of(layer.output_router, spec.index);
    case Part::kFinalRouter: return field_of(all.final_router, spec.index);
    case Part::kRouter: return field_of(layer.router, spec.index);
    case Part::kDepthAverage: return layer.depth_average;
    case Part::kFinalNorm: return field_of(all.final_norm, spec.index);
    case Part::kProjectOut: return field_of(all.project_out, spec.index);
    default: return spec.index == 0 ? all.lm_head : all.lm_head_bias;
  }
}

/// Returns true for the parts that share one matrix in memory.
bool is_fused(Part part) {
  return part == Part::kQuery || part == Part::kKey || part == Part::kValue ||
         part == Part::kGate || part == Part::kUp || part == Part::kExpertGate ||
         part == Part::kExpertUp;
}

/// Allocates one matrix for parts without memory; each becomes a detached view, hence a leaf.
void fuse(LinearWeights& whole, std::initializer_list<LinearWeights*> parts,
          const at::TensorOptions& options) {
  for (const int index : {0, 1}) {
    std::int64_t rows = 0;
    at::Tensor like;
    for (LinearWeights* part : parts) {
      const at::Tensor& field = field_of(*part, index);
      if (!field.defined()) continue;
      rows += field.size(0);
      like = field;
    }
    if (!like.defined()) continue;
    std::vector<std::int64_t> shape = like.sizes().vec();
    shape[0] = rows;
    field_of(whole, index) = at::empty(shape, options);
    std::int64_t first = 0;
    for (LinearWeights* part : parts) {
      at::Tensor& field = field_of(*part, index);
      if (!field.defined()) continue;
      const std::int64_t count = field.size(0);
      field = field_of(whole, index).narrow(0, first, count).detach();
      first += count;
    }
  }
}

void fill_normal(const at::Tensor& to, double deviation, Random& random) {
  double* const data = to.data_ptr<double>();
  for (std::int64_t i = 0; i < to.numel(); ++i) data[i] = deviation * random.normal();
}

/// Fills the weights of a router with the initial values of its public code: attention over depth
/// starts as uniform, manifold-constrained Hyper-Connections as random, MUDD as a plain stream.
void initialize_depth_router(const DepthRouterWeights& router, const ModelConfig& config) {
  if (!router.projection.defined()) return;
  const auto fill = [](at::Tensor tensor, double value) {
    if (tensor.defined()) tensor.fill_(value);
  };
  fill(router.gain, 1.0);
  fill(router.offset, config.attn_res.recency_bias_init.value_or(0.0));
  if (config.routing == DepthRouting::kAttentionResiduals) fill(router.projection, 0.0);
  if (config.routing != DepthRouting::kMudd) return;
  const double spread = std::sqrt(static_cast<double>(config.hidden_size));
  at::Tensor(router.projection).div_(config.initializer_range * spread);  // N(0, 1 / hidden_size)
  fill(router.expansion, 0.0);
  router.offset.select(1, router.offset.size(1) - 1).fill_(1.0);
}

/// Zeros for biases, the identity for norms, draws for matrices.
void initialize_parameter(const ParameterSpec& spec, const at::Tensor& tensor,
                          const ModelConfig& config, Random random) {
  const bool is_bias = spec.index == 1 && !is_routing(spec.part);
  if (is_bias) {
    tensor.zero_();
  } else if (tensor.dim() == 1 && spec.part != Part::kSinks) {
    tensor.fill_(config.spec.norm.kind == NormKind::kRmsPlusOne ? 0.0 : 1.0);
  } else {
    const at::Tensor drawn = at::empty(tensor.sizes(), at::TensorOptions(at::kDouble));
    if (spec.part == Part::kRouter && spec.index == 0) {  // static
      initialize_router(drawn, config, random);
    } else {
      fill_normal(drawn, config.initializer_range, random);
    }
    tensor.copy_(drawn);
  }
}

}  // namespace

DecoderWeights::DecoderWeights(const ModelConfig& config, const at::TensorOptions& options,
                               std::span<const DecoderStage> stages) {
  config.validate("decoder");
  const auto on_device_of = [&](std::int64_t layer) {
    for (const DecoderStage& stage : stages) {
      if (layer < stage.layers.end()) return options.device(stage.device);
    }
    return options;
  };
  layers.resize(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    if (const ExpertsSpec* const experts = config.spec.experts_of(i)) {
      layers[i].experts.resize(static_cast<std::size_t>(experts->num_experts));
    }
  }
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  for (const ParameterSpec& spec : specs) {
    const bool is_last = spec.layer < 0 && is_behind_layers(spec.part);
    const std::int64_t layer =
        is_last ? config.num_hidden_layers - 1 : std::max<std::int64_t>(spec.layer, 0);
    const at::TensorOptions here = on_device_of(layer);
    field_of(*this, spec) =
        at::empty(spec.shape, is_fused(spec.part) ? here.device(at::kMeta) : here);
  }
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    LayerWeights& layer = layers[i];
    fuse(layer.qkv, {&layer.q, &layer.k, &layer.v}, on_device_of(i));
    fuse(layer.gate_up, {&layer.gate, &layer.up}, on_device_of(i));
    for (ExpertWeights& expert : layer.experts) {
      fuse(expert.gate_up, {&expert.gate, &expert.up}, on_device_of(i));
    }
    if (config.spec.shares_input_norm) layer.mlp_norm = layer.input_norm;
  }
  if (config.tie_word_embeddings) lm_head = embedding;
  for (const ParameterSpec& spec : specs) parameters.push_back({spec.name, field_of(*this, spec)});
}

bool DecoderWeights::requires_grad() const {
  return std::ranges::any_of(parameters,
                             [](const NamedTensor& entry) { return entry.tensor.requires_grad(); });
}

void initialize_weights(DecoderWeights& weights, const ModelConfig& config, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  const Random base(seed);
  std::int64_t numbers = 0;
  for (const NamedTensor& parameter : weights.parameters) numbers += parameter.tensor.numel();
  const std::int64_t count = std::ssize(weights.parameters);
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  // Each parameter has a random stream of its own, so the threads do not change the values.
  for_each_tile(count, kOperationsPerDraw * numbers / count, [&] {
    return [&](std::int64_t i) {
      const at::NoGradGuard no_grad_in_this_thread;
      const auto place = static_cast<std::size_t>(i);
      initialize_parameter(specs[place], weights.parameters[place].tensor, config,
                           base.fork(static_cast<std::uint64_t>(i)));
    };
  });
  initialize_depth_router(weights.final_router, config);
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const LayerWeights& own = weights.layers[layer];
    if (own.depth_average.defined()) {  // the block's own output, so that the model equals a LLaMA
      own.depth_average.zero_().select(1, own.depth_average.size(1) - 1).fill_(1.0);
    }
    initialize_depth_router(own.attention_router, config);
    initialize_depth_router(own.feed_forward_router, config);
    initialize_depth_router(own.output_router, config);
    if (!own.hyper_attention.static_alpha.defined()) continue;
    initialize_hyper_connection(own.hyper_attention, static_cast<std::int64_t>(layer));
    initialize_hyper_connection(own.hyper_feed_forward, static_cast<std::int64_t>(layer));
  }
}

}  // namespace lime

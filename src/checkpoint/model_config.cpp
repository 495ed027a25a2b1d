// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_config.h"

#include <cmath>
#include <tuple>

#include "checkpoint/families/family.h"
#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxLayers = 10000;
constexpr std::int64_t kMaxHeads = 65536;

void require_size(std::string_view where, const char* key, std::int64_t value,
                  std::int64_t maximum = kMaxSize) {
  if (value >= 1 && value <= maximum) return;
  throw FormatError("{}: '{}' must be from 1 to {}, got {}", where, key, maximum, value);
}

void require_positive(std::string_view where, const char* key, double value) {
  if (std::isfinite(value) && value > 0.0) return;
  throw FormatError("{}: '{}' must be a positive number, got {}", where, key, value);
}

void require_positive(std::string_view where, const char* key, const std::optional<double>& value) {
  if (value) require_positive(where, key, *value);
}

void require_factors(std::string_view where, const char* key, const std::vector<double>& factors,
                     std::int64_t count) {
  throw_if<FormatError>(std::ssize(factors) != count,
                        "{}: '{}' must have one number for each of {} rotated pairs, got {}", where,
                        key, count, factors.size());
  for (const double factor : factors) require_positive(where, key, factor);
}

/// Names the sizes as config.json of the family does.
void validate_sizes(const ModelConfig& config, std::string_view where) {
  const Family* const family = find_family(config.family);
  const SizeKeys usual;
  const SizeKeys& keys = family == nullptr ? usual : family->keys;
  const auto require = [&](const char* key, const char* otherwise, std::int64_t value,
                           std::int64_t maximum = kMaxSize) {
    require_size(where, key == nullptr ? otherwise : key, value, maximum);
  };
  const std::int64_t heads = config.num_attention_heads;
  const std::int64_t kv_heads = config.num_key_value_heads;
  require_size(where, "vocab_size", config.vocab_size);
  require_size(where, keys.hidden_size, config.hidden_size);
  require_size(where, keys.intermediate_size, config.intermediate_size);
  require_size(where, keys.num_hidden_layers, config.num_hidden_layers, kMaxLayers);
  require_size(where, keys.num_attention_heads, heads, kMaxHeads);
  require(keys.num_key_value_heads, usual.num_key_value_heads, kv_heads, heads);
  require(keys.head_dim, usual.head_dim, config.head_dim);
  require_size(where, keys.max_position_embeddings, config.max_position_embeddings);
  throw_if<FormatError>(heads % kv_heads != 0, "{}: '{}' must be a multiple of {} = {}, got {}",
                        where, keys.num_attention_heads, keys.num_key_value_heads, kv_heads, heads);
}

/// @param place  of the RoPE object
void validate_rope(const RopeSpec& rope, std::int64_t rotary_dim, std::string_view where,
                   std::string_view place) {
  require_positive(where, "rope_theta", rope.theta);
  if (rope.kind == RopeKind::kDefault) return;
  require_positive(place, "factor", rope.factor);
  require_positive(place, "attention_factor", rope.attention_factor);
  // Above it, factor - (factor - 1) is not 1 in double, and transformers computes other angles.
  constexpr double kLargestFactor = 9007199254740992.0;
  throw_if<FormatError>(rope.kind == RopeKind::kDynamic && rope.factor > kLargestFactor,
                        "{}: 'factor' must be at most {:.0f} for type dynamic, got {}", place,
                        kLargestFactor, rope.factor);
  if (rope.kind == RopeKind::kLlama3) {
    require_positive(place, "low_freq_factor", rope.low_freq_factor);
    require_positive(place, "high_freq_factor", rope.high_freq_factor);
    throw_if<FormatError>(rope.high_freq_factor <= rope.low_freq_factor,
                          "{}: 'high_freq_factor' must be above low_freq_factor = {}, got {}",
                          place, rope.low_freq_factor, rope.high_freq_factor);
  }
  if (rope.kind == RopeKind::kYarn) {
    require_positive(place, "beta_fast", rope.beta_fast);
    require_positive(place, "beta_slow", rope.beta_slow);
  }
  if (rope.kind == RopeKind::kLongRope) {
    require_factors(place, "short_factor", rope.short_factor, rotary_dim / 2);
    require_factors(place, "long_factor", rope.long_factor, rotary_dim / 2);
  }
  if (rope.kind == RopeKind::kLinear) return;
  require_size(place, "original_max_position_embeddings", rope.original_max_position_embeddings);
}

void validate_positions(const ModelConfig& config, std::string_view where) {
  const DecoderSpec& spec = config.spec;
  if (spec.ropes.empty()) return;
  const std::int64_t rotated = config.rotary_dim();
  throw_if<FormatError>(rotated % 2 != 0 || rotated < 2 || rotated > config.head_dim,
                        "{}: '{}' must be even for rotary embeddings, got {}", where,
                        spec.rotary_dim == 0 ? "head_dim" : "head_dim * partial_rotary_factor",
                        rotated);
  for (std::size_t i = 0; i < spec.ropes.size(); ++i) {
    const std::string place = fmt::format("{}: {}", where, rope_place(config, i));
    validate_rope(spec.ropes[i], rotated, where, place);
  }
}

void validate_layers(const ModelConfig& config, std::string_view where) {
  const std::vector<LayerSpec>& layers = config.spec.layers;
  throw_if<FormatError>(layers.size() != 1 && std::ssize(layers) != config.num_hidden_layers,
                        "{}: 'layer_types' must have one entry for each of {} layers, got {}",
                        where, config.num_hidden_layers, layers.size());
  for (const LayerSpec& layer : layers) {
    if (layer.window) require_size(where, "sliding_window", *layer.window);
    if (layer.intermediate_size) require_size(where, "MLP width", *layer.intermediate_size);
    require_positive(where, "attention scale", layer.attention_scale);
    if (layer.rope && !config.spec.ropes.empty() && *layer.rope >= config.spec.ropes.size()) {
      throw FormatError("{}: 'layer_types' has no RoPE of number {}", where, *layer.rope);
    }
  }
}

void validate_experts(const ExpertsSpec& experts, std::int64_t num_layers, std::string_view where) {
  constexpr std::int64_t kMaxExperts = 4096;
  constexpr std::int64_t kMaxOfModel = 131072;  // each is listed before the tensors are checked
  require_size(where, "num_experts", experts.num_experts, kMaxExperts);
  throw_if<FormatError>(experts.num_experts > kMaxOfModel / num_layers,
                        "{}: 'num_experts' times the number of layers must be at most {}, got {} "
                        "times {}",
                        where, kMaxOfModel, experts.num_experts, num_layers);
  throw_if<FormatError>(
      experts.num_experts_per_tok < 1 || experts.num_experts_per_tok > experts.num_experts,
      "{}: 'num_experts_per_tok' must be from 1 to the number of experts, {}, got {}", where,
      experts.num_experts, experts.num_experts_per_tok);
  require_size(where, "width of an expert", experts.intermediate_size);
  if (experts.shared_intermediate_size) {
    require_size(where, "shared_expert_intermediate_size", *experts.shared_intermediate_size);
  }
  throw_if<FormatError>(!std::isfinite(experts.aux_loss_coef) || experts.aux_loss_coef < 0.0,
                        "{}: 'router_aux_loss_coef' must be at least 0, got {}", where,
                        experts.aux_loss_coef);
  if (!experts.clamped_gate) return;
  require_positive(where, "swiglu_alpha", experts.clamped_gate->alpha);
  require_positive(where, "swiglu_limit", experts.clamped_gate->limit);
}

void validate_spec(const ModelConfig& config, std::string_view where) {
  const DecoderSpec& spec = config.spec;
  if (spec.experts) validate_experts(*spec.experts, config.num_hidden_layers, where);
  throw_if<FormatError>(!std::isfinite(spec.norm.eps) || spec.norm.eps < 0.0,
                        "{}: '{}' must be at least 0, got {}", where,
                        spec.norm.kind == NormKind::kLayerNorm ? "layer_norm_eps" : "rms_norm_eps",
                        spec.norm.eps);
  throw_if<FormatError>(spec.qkv_layout == QkvLayout::kFourShards && config.hidden_size % 4 != 0,
                        "{}: the hidden size must be a multiple of 4, the number of parts of the "
                        "projections, got {}",
                        where, config.hidden_size);
  validate_positions(config, where);
  validate_layers(config, where);
  require_positive(where, "clip_qkv", spec.qkv_clip);
  require_positive(where, "attn_logit_softcapping", spec.attention_softcap);
  require_positive(where, "final_logit_softcapping", spec.logits_softcap);
  require_positive(where, "embedding_multiplier", spec.embedding_multiplier);
  require_positive(where, "residual_multiplier", spec.residual_multiplier);
  require_positive(where, "logits_scaling", spec.logits_divisor);
  if (spec.embedding_size) require_size(where, "word_embed_proj_dim", *spec.embedding_size);
}

void validate_router(const LimeConfig& lime, std::int64_t num_layers, std::string_view place) {
  switch (lime.router) {
    case RouterKind::kLast:
    case RouterKind::kFirst:
    case RouterKind::kFirstAndPrevious:
    case RouterKind::kDilated: require_size(place, "j", lime.j, num_layers); break;
    case RouterKind::kAverage:
      throw_if<FormatError>(
          lime.per_dimension || lime.dynamic,
          "{}: the router 'average' has no weights, so 'per_dimension' and 'dynamic' must be "
          "false",
          place);
      break;
    case RouterKind::kFull:
    case RouterKind::kNone: break;
  }
  throw_if<FormatError>(lime.per_dimension && lime.dynamic,
                        "{}: 'per_dimension' and 'dynamic' must not both be true", place);
}

/// Checks that a routing of the residual stream finds blocks of the form x + f(norm(x)).
void require_plain_blocks(const ModelConfig& config, std::string_view where) {
  const DecoderSpec& spec = config.spec;
  const bool is_beside = spec.parallel_residual && config.routing != DepthRouting::kMudd;
  const char* const fault = is_beside ? "run attention and MLP in parallel"
                            : spec.norm_placement == NormPlacement::kBefore
                                ? nullptr
                                : "have norms after them";
  if (fault == nullptr) return;
  throw FormatError("{}: '{}' requires blocks with a norm before each part, those of '{}' {}",
                    where, enum_name(config.routing), config.family, fault);
}

void validate_attn_res(const AttnResConfig& config, std::int64_t num_layers,
                       std::string_view place) {
  const std::int64_t blocks = config.num_blocks;
  throw_if<FormatError>(
      blocks < 0 || (blocks > 0 && num_layers % blocks != 0),
      "{}: 'num_blocks' must divide num_hidden_layers = {}, or be 0 for full Attention "
      "Residuals, got {}",
      place, num_layers, blocks);
  if (std::isfinite(config.recency_bias_init.value_or(0.0))) return;
  throw FormatError("{}: 'recency_bias_init' must be finite, got {}", place,
                    *config.recency_bias_init);
}

void validate_routing(const ModelConfig& config, std::string_view where) {
  constexpr std::int64_t kMaxStreams = 1024;
  constexpr std::int64_t kMaxMixedStreams = 16;
  constexpr std::int64_t kMaxIterations = 1000;
  const std::int64_t num_layers = config.num_hidden_layers;
  const std::string place = fmt::format("{}: '{}'", where, enum_name(config.routing));
  switch (config.routing) {
    case DepthRouting::kLime: return validate_router(config.lime, num_layers, place);
    case DepthRouting::kDenseFormer:
      require_size(place, "dilation", config.denseformer.dilation, num_layers);
      return require_size(place, "period", config.denseformer.period, num_layers);
    case DepthRouting::kHyperConnections:
      require_plain_blocks(config, where);
      return require_size(place, "rate", config.hyper_connections.rate, kMaxStreams);
    case DepthRouting::kAttentionResiduals:
      require_plain_blocks(config, where);
      return validate_attn_res(config.attn_res, num_layers, place);
    case DepthRouting::kManifoldHyperConnections:
      require_plain_blocks(config, where);
      require_size(place, "hc_mult", config.mhc.hc_mult, kMaxMixedStreams);
      require_size(place, "hc_sinkhorn_iters", config.mhc.hc_sinkhorn_iters, kMaxIterations);
      if (std::isfinite(config.mhc.hc_eps) && config.mhc.hc_eps >= 0.0) return;
      throw FormatError("{}: 'hc_eps' must be at least 0, got {}", place, config.mhc.hc_eps);
    case DepthRouting::kDepthAttention:
      throw_if<FormatError>(
          config.spec.rotates_before_norm,
          "{}: '{}' compares keys before their rotation, those of '{}' have their "
          "norm after it",
          where, enum_name(config.routing), config.family);
      for (const auto& [key, count] :
           {std::pair("stride", config.depth_attention.stride),
            std::pair("recent_window", config.depth_attention.recent_window)}) {
        if (count != 0) require_size(place, key, count, num_layers);
      }
      break;
    case DepthRouting::kMudd: return require_plain_blocks(config, where);
    case DepthRouting::kResFormer:
    case DepthRouting::kNone: break;
  }
}

}  // namespace

std::string ModelConfig::name() const {
  if (routing == DepthRouting::kNone) return family;
  const std::string routed(enum_name(routing));
  return family == "llama" ? routed : fmt::format("{} + {}", family, routed);
}

std::int64_t ModelConfig::rotary_dim() const {
  if (spec.ropes.empty()) return 0;
  return spec.rotary_dim == 0 ? head_dim : spec.rotary_dim;
}

void ModelConfig::validate(std::string_view where) const {
  validate_sizes(*this, where);
  validate_spec(*this, where);
  validate_routing(*this, where);
}

void ModelConfig::require_head(std::string_view where) const {
  if (has_head) return;
  throw InvalidArgument(
      "{}: logits require the output projection '{}.weight', which this base model was saved "
      "without; load the whole model with AutoModelForCausalLM and save it with save_pretrained()",
      where, spec.names.output);
}

bool ModelConfig::operator==(const ModelConfig& other) const {
  const auto key = [](const ModelConfig& c) {
    return std::tie(c.family, c.spec, c.routing, c.vocab_size, c.hidden_size, c.intermediate_size,
                    c.num_hidden_layers, c.num_attention_heads, c.num_key_value_heads, c.head_dim,
                    c.max_position_embeddings, c.tie_word_embeddings, c.has_head, c.bos_token_id,
                    c.eos_token_ids, c.initializer_range, c.torch_dtype, c.lime, c.denseformer,
                    c.hyper_connections, c.first_layer_values_only, c.attn_res, c.mhc,
                    c.depth_attention, c.mudd);
  };
  return key(*this) == key(other);
}

}  // namespace lime

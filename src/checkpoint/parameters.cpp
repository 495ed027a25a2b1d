// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parameters.h"

#include <tuple>
#include <utility>

#include "checkpoint/router_layout.h"

namespace lime {
namespace {

using Size = std::int64_t;

constexpr Size kShards = 4;  // of QkvLayout::kFourShards

/// One of several projections that a file may store in one tensor.
struct Projection {
  Part part;
  std::string name;
  Size rows;
};

/// Appends the parameters of a decoder to a list.
class SpecList {
 public:
  explicit SpecList(const ModelConfig& config) : config_(config), spec_(config.spec) {}

  std::vector<ParameterSpec> all() && {
    add_input();
    for (layer_ = 0; layer_ < config_.num_hidden_layers; ++layer_) add_layer();
    layer_ = -1;
    add_output();
    return std::move(specs_);
  }

 private:
  std::string full(std::string_view name) const {
    if (layer_ >= 0) return layer_parameter(config_, layer_, name);
    return name == spec_.names.output ? std::string(name)
                                      : fmt::format("{}{}", spec_.names.prefix, name);
  }

  ParameterSpec& add(Part part, std::string name, Shape shape, int index = 0) {
    StoredPlace stored{.name = name, .shape = shape, .row_stride = shape.back()};
    if (shape.size() == 1) stored.row_stride = 1;
    return specs_.emplace_back(ParameterSpec{.name = std::move(name),
                                             .shape = std::move(shape),
                                             .part = part,
                                             .index = index,
                                             .layer = layer_,
                                             // Gains of norms and biases have one dimension.
                                             .is_decayed = stored.shape.size() > 1,
                                             .stored = std::move(stored)});
  }

  /// Adds weights of layers or streams, or what such weights are computed from, without decay.
  ParameterSpec& add_undecayed(Part part, std::string name, Shape shape, int index = 0) {
    ParameterSpec& added = add(part, std::move(name), std::move(shape), index);
    added.is_decayed = false;
    return added;
  }

  void add_norm(Part part, const std::string& name, Size width) {
    add_norm(part, name, width, spec_.norm);
  }
  void add_norm(Part part, const std::string& name, Size width, const NormSpec& norm) {
    if (!norm.has_weight) return;
    add(part, full(name) + ".weight", {width});
    if (norm.has_bias) add(part, full(name) + ".bias", {width}, 1);
  }

  void add_linear(Part part, const std::string& name, Size outputs, Size inputs, bool bias) {
    ParameterSpec& weight = add(part, full(name) + ".weight", {outputs, inputs});
    if (layer_ >= 0 && spec_.transposed_linears) {
      weight.stored.shape = {inputs, outputs};
      weight.stored.row_stride = 1;
      weight.stored.column_stride = outputs;
    }
    if (bias) add(part, full(name) + ".bias", {outputs}, 1);
  }

  /// Adds projections stored in one tensor `fused`, one after the other or, by `heads`, in turn.
  void add_fused(const std::string& fused, const std::vector<Projection>& parts, Size inputs,
                 bool bias, Size heads) {
    Size total = 0;
    for (const Projection& part : parts) total += part.rows;
    Size first = 0;
    for (const Projection& part : parts) {
      const std::size_t begin = specs_.size();
      add_linear(part.part, part.name, part.rows, inputs, bias);
      for (std::size_t i = begin; i < specs_.size(); ++i) {
        const bool is_bias = specs_[i].index == 1;
        place_in(specs_[i].stored, full(fused) + (is_bias ? ".bias" : ".weight"), total,
                 is_bias ? 0 : inputs, first / heads, heads);
      }
      first += part.rows;
    }
  }

  /// @param inputs  0 for a bias
  void place_in(StoredPlace& stored, std::string fused, Size total, Size inputs, Size first,
                Size heads) const {
    stored.name = std::move(fused);
    const bool is_transposed = inputs > 0 && spec_.transposed_linears;
    if (inputs == 0) {
      stored.shape = {total};
    } else {
      stored.shape = is_transposed ? Shape{inputs, total} : Shape{total, inputs};
    }
    if (is_transposed) stored.column_stride = total;
    stored.offset = first * stored.row_stride;
    stored.heads = heads;
    stored.head_stride = total / heads * stored.row_stride;
  }

  void add_input() {
    const Size width = spec_.embedding_size.value_or(config_.hidden_size);
    add(Part::kEmbedding, full(spec_.names.embedding) + ".weight", {config_.vocab_size, width});
    if (spec_.learned_position_offset) {
      add(Part::kPositions, full(spec_.names.positions) + ".weight",
          {config_.max_position_embeddings + *spec_.learned_position_offset, config_.hidden_size});
    }
    if (spec_.embedding_size) {
      add_linear(Part::kProjectIn, spec_.names.project_in, config_.hidden_size, width, false);
    }
  }

  void add_output() {
    const Size width = spec_.embedding_size.value_or(config_.hidden_size);
    if (config_.routing == DepthRouting::kAttentionResiduals &&
        config_.attn_res.sources != AttnResSources::kStates) {
      add_attn_res(Part::kFinalRouter, "final_res_");
    }
    if (config_.routing == DepthRouting::kManifoldHyperConnections) {
      add_mhc(Part::kFinalRouter, "hc_head.hc_", config_.mhc.hc_mult, 1);
    }
    if (spec_.has_final_norm) {
      add_norm(Part::kFinalNorm, spec_.names.final_norm, config_.hidden_size);
    }
    if (spec_.embedding_size) {
      add_linear(Part::kProjectOut, spec_.names.project_out, width, config_.hidden_size, false);
    }
    if (!config_.has_head) return;
    const std::string name = full(spec_.names.output);
    if (!config_.tie_word_embeddings)
      add(Part::kHead, name + ".weight", {config_.vocab_size, width});
    if (spec_.output_bias) add(Part::kHead, name + ".bias", {config_.vocab_size}, 1);
  }

  void add_layer() {
    const NormPlacement placement = spec_.norm_placement;
    const bool has_first = placement == NormPlacement::kBefore || placement == NormPlacement::kBoth;
    const bool has_last = placement != NormPlacement::kBefore;
    const bool splits = config_.routing == DepthRouting::kMudd && layer_ > 0;
    const std::vector<std::string>& split_names = spec_.names.split_input_norms;
    add_branch_start(Part::kHyperAttention, "hc_attn.", Part::kInputNorm,
                     splits && !split_names.empty() ? split_names[0] : spec_.names.input_norm,
                     has_first);
    add_attention();
    if (has_last) add_norm(Part::kAttentionNorm, spec_.names.attention_norm, config_.hidden_size);
    add_branch_start(Part::kHyperFeedForward, "hc_mlp.", Part::kMlpNorm, spec_.names.mlp_norm,
                     has_first && !spec_.shares_input_norm);
    add_mlp();
    if (has_last) add_norm(Part::kOutputNorm, spec_.names.output_norm, config_.hidden_size);
    add_generator();
    const Size averaged = num_averaged_outputs(config_, layer_);
    if (averaged == 0) return;
    add_undecayed(Part::kDepthAverage,
                  fmt::format("{}dwa_modules.alphas.{}.weight", spec_.names.prefix, layer_),
                  {1, averaged});
  }

  void add_attention() {
    const TensorNames& names = spec_.names;
    const Size hidden = config_.hidden_size;
    const Size queries = config_.num_attention_heads * config_.head_dim;
    const Size keys = config_.num_key_value_heads * config_.head_dim;
    std::vector<Projection> parts = {{Part::kQuery, names.q, queries}, {Part::kKey, names.k, keys}};
    if (has_own_values(config_, layer_)) parts.push_back({Part::kValue, names.v, keys});
    if (spec_.qkv_layout == QkvLayout::kSeparate || parts.size() < 3) {
      for (const Projection& part : parts) {
        add_linear(part.part, part.name, part.rows, hidden, spec_.qkv_bias);
      }
    } else {
      if (spec_.qkv_layout == QkvLayout::kFourShards) std::swap(parts[1], parts[2]);
      add_fused(names.qkv, parts, hidden, spec_.qkv_bias, groups_of_fused());
    }
    add_head_norm(Part::kQueryNorm, names.q_norm, config_.num_attention_heads);
    add_head_norm(Part::kKeyNorm, names.k_norm, config_.num_key_value_heads);
    add_router();
    if (spec_.attention_sinks) add(Part::kSinks, full(names.sinks), {config_.num_attention_heads});
    add_linear(Part::kAttentionOutput, names.o, hidden, queries, spec_.o_bias);
  }

  /// Returns the number of groups of rows in a fused tensor that each have parts of q, k and v.
  Size groups_of_fused() const {
    if (spec_.qkv_layout == QkvLayout::kPerHead) return config_.num_key_value_heads;
    return spec_.qkv_layout == QkvLayout::kFourShards ? kShards : 1;
  }

  void add_head_norm(Part part, const std::string& name, Size heads) {
    if (spec_.qk_norm == QkNorm::kNone) return;
    const Size width =
        spec_.qk_norm == QkNorm::kPerHead ? config_.head_dim : heads * config_.head_dim;
    const std::size_t begin = specs_.size();
    add_norm(part, name, width, spec_.head_norm ? *spec_.head_norm : spec_.norm);
    if (spec_.qk_norm != QkNorm::kEachHeadItsOwn) return;
    for (std::size_t i = begin; i < specs_.size(); ++i) {
      specs_[i].stored.shape = {heads, config_.head_dim};
    }
  }

  void add_router() {
    const std::string name = full("self_attn.lime_router.");
    if (has_static_router(config_, layer_)) {
      add_undecayed(Part::kRouter, name + "static_weights", static_router_shape(config_, layer_));
    }
    if (has_dynamic_router(config_, layer_)) {
      const Size heads = config_.num_key_value_heads;
      const Size sources = std::ssize(router_sources(config_.lime, layer_));
      add_undecayed(Part::kRouter, name + "q_proj.weight",
                    {heads * config_.head_dim, config_.hidden_size}, 1);
      add_undecayed(Part::kRouter, name + "keys",
                    {config_.lime.head_mixing ? sources * heads : sources, config_.head_dim}, 2);
    }
  }

  /// Adds what precedes attention or feed-forward: a norm, or a hyper-connection.
  void add_branch_start(Part hyper, std::string_view hyper_name, Part norm,
                        const std::string& norm_name, bool has_norm) {
    if (config_.routing != DepthRouting::kHyperConnections) {
      if (has_norm) add_norm(norm, norm_name, config_.hidden_size);
      return add_depth_router(hyper == Part::kHyperAttention);
    }
    const std::string name = full(hyper_name);
    const Size rate = config_.hyper_connections.rate;
    const Size hidden = config_.hidden_size;
    add_undecayed(hyper, name + "static_alpha", {rate, rate + 1});
    add(hyper, name + "static_beta", {rate}, 1);
    if (!config_.hyper_connections.dynamic) return;
    add(hyper, name + "dynamic_alpha_fn", {hidden, rate + 1}, 2);
    add(hyper, name + "dynamic_alpha_scale", {1}, 3);
    add(hyper, name + "dynamic_beta_fn", {hidden}, 4);
    add(hyper, name + "dynamic_beta_scale", {1}, 5);
  }

  /// Adds what selects the input of attention, or of the MLP, from the residual stream.
  void add_depth_router(bool is_attention) {
    const Part part = is_attention ? Part::kAttentionRouter : Part::kFeedForwardRouter;
    const Size streams = config_.mhc.hc_mult;
    if (config_.routing == DepthRouting::kAttentionResiduals) {
      add_attn_res(part, is_attention ? "attn_res_" : "mlp_res_");
    } else if (config_.routing == DepthRouting::kManifoldHyperConnections) {
      add_mhc(part, is_attention ? "attn_hc." : "ffn_hc.", (2 + streams) * streams, 3);
    } else if (config_.routing == DepthRouting::kMudd && is_attention && layer_ > 0) {
      const std::string& name = spec_.names.input_norm;
      std::vector<std::string> names = {name, name + "_k", name + "_v"};
      if (!spec_.names.split_input_norms.empty()) names = spec_.names.split_input_norms;
      add_norm(Part::kKeyInputNorm, names[1], config_.hidden_size);
      add_norm(Part::kValueInputNorm, names[2], config_.hidden_size);
    }
  }

  void add_attn_res(Part part, std::string_view name) {
    add_undecayed(part, full(name) + "proj.weight", {1, config_.hidden_size});
    add(part, full(name) + "norm.weight", {config_.hidden_size}, 1);
    if (config_.attn_res.recency_bias_init)
      add(part, full(name) + "bias", {1}, 2).stored.shape = {};
  }

  void add_mhc(Part part, std::string_view name, Size logits, Size scales) {
    add(part, full(name) + "fn", {logits, config_.mhc.hc_mult * config_.hidden_size});
    add(part, full(name) + "scale", {scales}, 1);
    add(part, full(name) + "base", {logits}, 2);
  }

  /// Adds the generator of MUDD's weights after a layer.
  void add_generator() {
    if (config_.routing != DepthRouting::kMudd) return;
    const bool is_last = layer_ + 1 == config_.num_hidden_layers;
    const Size ways = is_last ? 1 : 4;
    const Size weights = ways * (layer_ + 2);
    Size inner = weights * (is_last ? 4 : 1);
    if (config_.mudd.round64) inner = (inner / 64 + 1) * 64;
    const std::string name = fmt::format("{}dynamic_dense.{}.", spec_.names.prefix, layer_);
    add(Part::kOutputRouter, name + "w1.weight", {inner, config_.hidden_size});
    add(Part::kOutputRouter, name + "w2.weight", {weights, inner}, 3);
    add_undecayed(Part::kOutputRouter, fmt::format("{}dense_bs.{}", spec_.names.prefix, layer_),
                  {ways, layer_ + 2}, 2);
  }

  void add_mlp() {
    const TensorNames& names = spec_.names;
    const ExpertsSpec* const experts = spec_.experts_of(layer_);
    if (experts != nullptr) return add_experts(*experts);
    const Size hidden = config_.hidden_size;
    const Size inner = config_.mlp_width(layer_);
    std::vector<Projection> parts;
    if (spec_.gated_mlp) parts.push_back({Part::kGate, names.gate, inner});
    parts.push_back({Part::kUp, names.up, inner});
    if (spec_.fused_gate_up) {
      add_fused(names.gate_up, parts, hidden, spec_.mlp_bias, 1);
    } else {
      for (const Projection& part : parts) {
        add_linear(part.part, part.name, part.rows, hidden, spec_.mlp_bias);
      }
    }
    add_linear(Part::kDown, names.down, hidden, inner, spec_.mlp_bias);
  }

  /// Adds a mixture of experts, the shared expert last.
  void add_experts(const ExpertsSpec& experts) {
    const TensorNames& names = spec_.names;
    const Size hidden = config_.hidden_size;
    const Size inner = experts.intermediate_size;
    add_linear(Part::kExpertRouter, names.router, experts.num_experts, hidden, experts.bias);
    for (Size expert = 0; expert < experts.num_experts; ++expert) {
      const std::string prefix = fmt::format("{}.{}.", names.experts, expert);
      const std::size_t begin = specs_.size();
      add_linear(Part::kExpertGate, prefix + names.expert_gate, inner, hidden, experts.bias);
      add_linear(Part::kExpertUp, prefix + names.expert_up, inner, hidden, experts.bias);
      add_linear(Part::kExpertDown, prefix + names.expert_down, hidden, inner, experts.bias);
      for (std::size_t i = begin; i < specs_.size(); ++i) {
        specs_[i].expert = expert;
        if (experts.layout == ExpertLayout::kSeparate) continue;
        specs_[i].stored = packed_place(config_, specs_[i], experts.layout);
      }
    }
    if (!experts.shared_intermediate_size) return;
    const Size shared = *experts.shared_intermediate_size;
    for (const auto& [part, name, outputs, inputs] :
         {std::tuple(Part::kGate, "gate", shared, hidden),
          std::tuple(Part::kUp, "up", shared, hidden),
          std::tuple(Part::kDown, "down", hidden, shared)}) {
      add_linear(part, fmt::format(fmt::runtime(names.shared_expert), name), outputs, inputs,
                 false);
    }
    add_linear(Part::kSharedExpertGate, names.shared_expert_gate, 1, hidden, false);
  }

  const ModelConfig& config_;
  const DecoderSpec& spec_;
  Size layer_ = -1;
  std::vector<ParameterSpec> specs_;
};

/// Returns the name of the bias of packed experts: `ffn_up_exps.bias`, or `gate_up_proj_bias`.
std::string bias_name(const std::string& weight) {
  constexpr std::string_view kWeight = ".weight";
  if (!weight.ends_with(kWeight)) return weight + "_bias";
  return weight.substr(0, weight.size() - kWeight.size()) + ".bias";
}

}  // namespace

StoredPlace packed_place(const ModelConfig& config, const ParameterSpec& spec,
                         ExpertLayout layout) {
  const TensorNames& names = config.spec.names;
  const Size experts = config.spec.experts->num_experts;
  const Size rows = spec.shape.front();
  const bool is_bias = spec.index == 1;
  const Size columns = is_bias ? 1 : spec.shape.back();
  const bool is_down = spec.part == Part::kExpertDown;
  // Gate and up share a tensor, and each row of it has this many of ours.
  const Size parts = is_down || layout == ExpertLayout::kPackedParts ? 1 : 2;
  const bool is_interleaved = layout == ExpertLayout::kInterleaved;
  const Size part = parts == 2 && spec.part == Part::kExpertUp ? 1 : 0;
  std::string name = is_down                          ? names.packed_down
                     : parts == 2                     ? names.packed_gate_up
                     : spec.part == Part::kExpertGate ? names.packed_gate
                                                      : names.packed_up;
  if (is_bias) name = bias_name(name);
  StoredPlace place{.name = layer_parameter(config, spec.layer, name), .shape = {}};
  place.offset = spec.expert * parts * rows * columns;
  if (is_bias) {
    place.shape = {experts, parts * rows};
    place.row_stride = is_interleaved ? parts : 1;
    place.offset += is_interleaved ? part : part * rows;
  } else if (is_interleaved) {
    place.shape = {experts, columns, parts * rows};
    place.row_stride = parts;
    place.column_stride = parts * rows;
    place.offset += part;
  } else {
    place.shape = {experts, parts * rows, columns};
    place.row_stride = columns;
    place.offset += part * rows * columns;
  }
  return place;
}

std::vector<ParameterSpec> parameter_specs(const ModelConfig& config) {
  return SpecList(config).all();
}

bool has_own_values(const ModelConfig& config, std::int64_t layer) {
  return config.routing != DepthRouting::kResFormer || !config.first_layer_values_only ||
         layer == 0;
}

std::int64_t num_averaged_outputs(const ModelConfig& config, std::int64_t layer) {
  const std::int64_t depth = layer + 1;
  if (config.routing != DepthRouting::kDenseFormer || depth % config.denseformer.period != 0) {
    return 0;
  }
  return depth / config.denseformer.dilation + 1;
}

std::string layer_parameter(const ModelConfig& config, std::int64_t layer, std::string_view name) {
  const TensorNames& names = config.spec.names;
  return fmt::format("{}{}.{}.{}", names.prefix, names.layers, layer, name);
}

bool is_routing(Part part) {
  return part == Part::kRouter || part == Part::kDepthAverage || part == Part::kHyperAttention ||
         part == Part::kHyperFeedForward || part == Part::kAttentionRouter ||
         part == Part::kFeedForwardRouter || part == Part::kOutputRouter ||
         part == Part::kFinalRouter;
}

bool is_expert(Part part) {
  return part == Part::kExpertGate || part == Part::kExpertUp || part == Part::kExpertDown;
}

bool is_norm(Part part) {
  return part == Part::kInputNorm || part == Part::kQueryNorm || part == Part::kKeyNorm ||
         part == Part::kAttentionNorm || part == Part::kMlpNorm || part == Part::kOutputNorm ||
         part == Part::kFinalNorm || part == Part::kKeyInputNorm || part == Part::kValueInputNorm;
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) count += element_count(spec.shape);
  return count;
}

}  // namespace lime

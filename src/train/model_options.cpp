// SPDX-License-Identifier: Apache-2.0
#include "train/model_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/families/family.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

/// Checks the options that are sizes in config.json too, under the names that the user typed.
void check_sizes(const ModelOptions& options) {
  for (const auto& [name, size] :
       {std::pair("num_hidden_layers", options.num_hidden_layers),
        std::pair("num_attention_heads", options.num_attention_heads),
        std::pair("num_key_value_heads", options.num_key_value_heads.value_or(1)),
        std::pair("hidden_size", options.hidden_size),
        std::pair("intermediate_size", options.intermediate_size.value_or(1)),
        std::pair("num_experts", options.num_experts),
        std::pair("num_experts_per_tok", options.num_experts_per_tok),
        std::pair("moe_intermediate_size", options.moe_intermediate_size.value_or(1)),
        std::pair("max_position_embeddings", options.max_position_embeddings)}) {
    check_option(size >= 1, name, ">= 1", size);
  }
  throw_if(options.hidden_size % options.num_attention_heads != 0, OptionName("hidden_size"),
           "must be a multiple of the {} attention heads, got {}", options.num_attention_heads,
           options.hidden_size);
}

bool router_has_j(RouterKind router) {
  return router == RouterKind::kLast || router == RouterKind::kFirst ||
         router == RouterKind::kFirstAndPrevious || router == RouterKind::kDilated;
}

bool router_has_weights(RouterKind router) {
  return router != RouterKind::kAverage && router != RouterKind::kNone;
}

/// Options that only some decoders use.
struct OwnedOptions {
  std::string_view owner;  ///< on the command line
  bool is_used;
  std::vector<std::string_view> names;
};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family* family : all_families()) {
    if (family->is_for_new_models) names.emplace_back(family->model_type);
  }
  return names;
}

/// Restricts a text option to a list of values.
void add_choice(OptionField& field, std::vector<std::string> choices) {
  field.type = fmt::format("{}", fmt::join(choices, "|"));
  field.assign = [assign = field.assign, name = field.name,
                  choices](const std::vector<std::string>& texts) {
    throw_if(std::ranges::find(choices, texts.back()) == choices.end(), OptionName(name),
             "expected one of {}, got '{}'", join_words(choices), texts.back());
    assign(texts);
  };
  field.choices = std::move(choices);
}

/// Adds a flag that sets `target` to false.
void add_negation(OptionList& list, const char* name, bool& target, const char* help) {
  OptionField& field = list.add(name, target, help);
  field.assign = [&target, assign = field.assign](const std::vector<std::string>& texts) {
    assign(texts);
    target = !target;
  };
  field.value = [&target] { return Json(!target); };
}

/// Returns the family of the blocks, or null.
const Family* blocks_of(const ModelOptions& options) {
  return find_family(options.blocks.value_or(options.decoder));
}

/// Adds the keys of mixtures of experts, if the blocks have them. Defaults of transformers are
/// those of large models.
void add_experts(const ModelOptions& options, Json& keys) {
  const Family* const family = blocks_of(options);
  if (family == nullptr || family->num_experts_key == nullptr) return;
  keys[family->num_experts_key] = options.num_experts;
  keys["num_experts_per_tok"] = options.num_experts_per_tok;
  if (family->has_expert_width) {
    keys["moe_intermediate_size"] =
        options.moe_intermediate_size.value_or(keys["intermediate_size"].get<std::int64_t>());
    if (family->model_type == "qwen2_moe") {
      keys["shared_expert_intermediate_size"] = keys["moe_intermediate_size"];
    }
  }
  if (options.router_aux_loss_coef == 0.0) return;
  keys["router_aux_loss_coef"] = options.router_aux_loss_coef;
  keys["output_router_logits"] = true;
}

std::vector<OwnedOptions> owned_options(const ModelOptions& options) {
  const Family* const blocks = blocks_of(options);
  constexpr std::string_view kWeights = "--decoder lime and a router with weights";
  const auto is = [&](std::string_view decoder) { return options.decoder == decoder; };
  const bool has_weights = is("lime") && router_has_weights(options.lime.router);
  return {
      {"a --decoder that is a routing, such as lime",
       find_enum<DepthRouting>(options.decoder).has_value(),
       {"blocks"}},
      {"a --decoder or --blocks with experts, such as olmoe",
       blocks != nullptr && blocks->num_experts_key != nullptr,
       {"num_experts", "num_experts_per_tok", "router_aux_loss_coef"}},
      {"--decoder or --blocks qwen2_moe or qwen3_moe",
       blocks != nullptr && blocks->has_expert_width,
       {"moe_intermediate_size"}},
      {"--decoder lime", is("lime"), {"router"}},
      {"--decoder lime and --router last, first, first-and-previous or dilated",
       is("lime") && router_has_j(options.lime.router),
       {"router_j"}},
      {kWeights, has_weights, {"no_head_mixing", "per_dimension", "dynamic_router"}},
      {"--decoder lime and a static router with weights",
       has_weights && !options.lime.dynamic,
       {"router_initializer_scale"}},
      {kWeights, has_weights, {"router_learning_rate"}},
      {"--decoder denseformer", is("denseformer"), {"dwa_dilation", "dwa_period"}},
      {"--decoder hyper_connections", is("hyper_connections"), {"hyper_rate", "hyper_static"}},
      {"--decoder resformer", is("resformer"), {"first_layer_only"}},
      {"--decoder attn_res",
       is("attn_res"),
       {"attn_res_blocks", "attn_res_sources", "attn_res_recency_bias"}},
      {"--decoder mhc", is("mhc"), {"hc_mult", "hc_sinkhorn_iters", "hc_eps"}},
      {"--decoder depth_attention", is("depth_attention"), {"depth_stride", "depth_recent_window"}},
      {"--decoder mudd", is("mudd"), {"mudd_exact_size"}},
  };
}

}  // namespace

ModelOptions ModelOptions::of(const ModelConfig& config) {
  ModelOptions options;
  options.decoder =
      config.routing == DepthRouting::kNone ? config.family : enum_name(config.routing);
  if (config.routing != DepthRouting::kNone) options.blocks = config.family;
  options.lime = config.lime;
  options.denseformer = config.denseformer;
  options.hyper_connections = config.hyper_connections;
  options.first_layer_only = config.first_layer_values_only;
  options.attn_res = config.attn_res;
  options.mhc = config.mhc;
  options.depth_attention = config.depth_attention;
  options.mudd = config.mudd;
  options.num_hidden_layers = config.num_hidden_layers;
  options.num_attention_heads = config.num_attention_heads;
  options.num_key_value_heads = config.num_key_value_heads;
  options.hidden_size = config.hidden_size;
  options.intermediate_size = config.intermediate_size;
  if (const std::optional<ExpertsSpec>& experts = config.spec.experts) {
    options.num_experts = experts->num_experts;
    options.num_experts_per_tok = experts->num_experts_per_tok;
    options.router_aux_loss_coef = experts->aux_loss_coef;
    if (blocks_of(options)->has_expert_width) {
      options.moe_intermediate_size = experts->intermediate_size;
    }
  }
  options.max_position_embeddings = config.max_position_embeddings;
  options.untie_word_embeddings = !config.tie_word_embeddings;
  options.initializer_range = config.initializer_range;
  return options;
}

void ModelOptions::require_used(const std::set<std::string>& given) const {
  for (const auto& [owner, is_used, names] : owned_options(*this)) {
    for (const std::string_view name : names) {
      if (is_used || !given.contains(std::string(name))) continue;
      const std::string router_here =
          decoder == "lime" ? fmt::format(" --router {}", enum_name(lime.router)) : "";
      throw InvalidArgument(OptionName(name),
                            "requires {}, got --decoder {}{}; select that, or omit it", owner,
                            decoder, router_here);
    }
  }
}

void ModelOptions::describe(OptionList& list) {
  list.group("Model");
  add_choice(list.add("decoder", decoder, "decoder to train"), decoder_names());
  add_choice(list.add("blocks", blocks,
                      "family of the blocks of a decoder that is a routing, such as lime; llama if "
                      "not given"),
             family_names());
  list.add("router", lime.router, "earlier layers that the LIMe routers read");
  list.add(
      "router_j", lime.j,
      "number of layers of the routers last, first and first-and-previous, or step of dilated");
  add_negation(list, "no_head_mixing", lime.head_mixing,
               "a routed head reads only its own buffered heads");
  list.add("per_dimension", lime.per_dimension,
           "routers have one weight for each dimension of a head");
  list.add("dynamic_router", lime.dynamic, "routers compute their weights from the token");
  list.add("router_initializer_scale", lime.initializer_scale,
           "scale of the random initialisation of LIMe routers, relative to the paper, >= 0; 0 "
           "starts as a LLaMA");
  list.add("dwa_dilation", denseformer.dilation,
           "denseformer: averages read every N-th output, >= 1");
  list.add("dwa_period", denseformer.period, "denseformer: every N-th layer averages, >= 1");
  list.add("hyper_rate", hyper_connections.rate,
           "hyper_connections: number of residual streams, >= 1");
  add_negation(list, "hyper_static", hyper_connections.dynamic,
               "hyper_connections: use the same weights for all tokens");
  list.add("first_layer_only", first_layer_only,
           "resformer: all layers read the values of layer 0 (SVFormer)");
  list.add("attn_res_blocks", attn_res.num_blocks,
           "attn_res: number of blocks, a divisor of the layers; 0: attend to every output");
  list.add("attn_res_sources", attn_res.sources, "attn_res: sources that routers attend to");
  list.add("attn_res_recency_bias", attn_res.recency_bias_init,
           "attn_res: initial value of a learned bias of the latest source; no bias if not given");
  list.add("hc_mult", mhc.hc_mult, "mhc: number of residual streams, 1 to 16");
  list.add("hc_sinkhorn_iters", mhc.hc_sinkhorn_iters, "mhc: Sinkhorn iterations, >= 1");
  list.add("hc_eps", mhc.hc_eps, "mhc: added to the sums that Sinkhorn iterations divide by, >= 0");
  list.add("depth_stride", depth_attention.stride,
           "depth_attention: later layers read every N-th layer; 0: half the layers");
  list.add("depth_recent_window", depth_attention.recent_window,
           "depth_attention: layers also read the N preceding ones");
  add_negation(list, "mudd_exact_size", mudd.round64,
               "mudd: do not round the generators' hidden size up to a multiple of 64");
  list.add("num_hidden_layers", num_hidden_layers, "number of layers");
  list.add("num_attention_heads", num_attention_heads, "number of query heads");
  list.add("num_key_value_heads", num_key_value_heads,
           "number of key and value heads; as many as query heads if not given");
  list.add("hidden_size", hidden_size, "width of the residual stream");
  list.add("intermediate_size", intermediate_size,
           "width of the MLP; 4 * hidden size if not given");
  list.add("num_experts", num_experts, "experts: number of experts per layer");
  list.add("num_experts_per_tok", num_experts_per_tok,
           "experts: number of experts that each token passes");
  list.add("moe_intermediate_size", moe_intermediate_size,
           "experts of Qwen: width of an expert; the width of the MLP if not given");
  list.add("router_aux_loss_coef", router_aux_loss_coef,
           "experts: factor of the load balancing loss in training, >= 0; 0: none");
  list.add("max_position_embeddings", max_position_embeddings, "longest sequence, in tokens");
  list.add("untie_word_embeddings", untie_word_embeddings,
           "do not share the output projection weights with the embedding");
  list.add("initializer_range", initializer_range,
           "standard deviation of the initial matrices, > 0");
}

ModelConfig ModelOptions::config(std::int64_t vocab_size, std::int64_t bos_token_id,
                                 std::int64_t eos_token_id) const {
  constexpr const char* kWhere = "model";
  check_sizes(*this);
  check_option(initializer_range > 0.0 && std::isfinite(initializer_range), "initializer_range",
               "> 0", initializer_range);
  check_option(lime.initializer_scale >= 0.0 && std::isfinite(lime.initializer_scale),
               "router_initializer_scale", ">= 0", lime.initializer_scale);
  Json keys = {{"vocab_size", vocab_size},
               {"hidden_size", hidden_size},
               {"intermediate_size", intermediate_size.value_or(4 * hidden_size)},
               {"num_hidden_layers", num_hidden_layers},
               {"num_attention_heads", num_attention_heads},
               {"num_key_value_heads", num_key_value_heads.value_or(num_attention_heads)},
               {"head_dim", hidden_size / num_attention_heads},
               {"max_position_embeddings", max_position_embeddings},
               {"tie_word_embeddings", !untie_word_embeddings},
               {"bos_token_id", bos_token_id},
               {"eos_token_id", eos_token_id},
               {"pad_token_id", nullptr},  // some families' default is outside a small vocabulary
               {"initializer_range", initializer_range},
               {"torch_dtype", "float32"}};
  check_option(router_aux_loss_coef >= 0.0 && std::isfinite(router_aux_loss_coef),
               "router_aux_loss_coef", ">= 0", router_aux_loss_coef);
  add_experts(*this, keys);
  if (blocks) keys[decoder] = Json::object();
  ModelConfig config = make_model_config(blocks.value_or(decoder), keys, kWhere);
  set_routing(config);
  config.validate(kWhere);
  return config;
}

ModelConfig ModelOptions::routed(ModelConfig base) const {
  const auto routing = find_enum<DepthRouting>(decoder);
  if (!routing || base.routing != DepthRouting::kNone) return base;
  base.routing = *routing;
  set_routing(base);
  base.validate("decoder");
  return base;
}

void ModelOptions::set_routing(ModelConfig& config) const {
  config.lime = lime;
  config.denseformer = denseformer;
  config.hyper_connections = hyper_connections;
  config.first_layer_values_only = first_layer_only;
  config.attn_res = attn_res;
  config.mhc = mhc;
  config.depth_attention = depth_attention;
  config.mudd = mudd;
}

}  // namespace lime

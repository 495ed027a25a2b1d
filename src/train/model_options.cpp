// SPDX-License-Identifier: Apache-2.0
#include "train/model_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "checkpoint/families/family.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

void require_start(bool holds, const char* name, const char* what, double value) {
  if (holds && std::isfinite(value)) return;
  throw InvalidArgument("model: {} must be {}, got {}", name, what, value);
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
  for (const Family* family : all_families()) names.emplace_back(family->model_type);
  return names;
}

/// Restricts a text option to a list of values.
void add_choice(OptionField& field, std::vector<std::string> choices) {
  field.type = fmt::format("{}", fmt::join(choices, "|"));
  field.assign = [assign = field.assign, name = field.name,
                  choices](const std::vector<std::string>& texts) {
    throw_if(std::ranges::find(choices, texts.back()) == choices.end(),
             "{}: expected one of {}, got '{}'", name, join_words(choices), texts.back());
    assign(texts);
  };
  field.choices = std::move(choices);
}

std::vector<OwnedOptions> owned_options(const ModelOptions& options) {
  constexpr std::string_view kWeights = "--decoder lime and a router with weights";
  const auto is = [&](std::string_view decoder) { return options.decoder == decoder; };
  const bool has_weights = is("lime") && router_has_weights(options.router);
  return {
      {"a --decoder that is a routing, such as lime",
       find_enum<DepthRouting>(options.decoder).has_value(),
       {"blocks"}},
      {"--decoder lime", is("lime"), {"router"}},
      {"--decoder lime and --router last, first, first-and-previous or dilated",
       is("lime") && router_has_j(options.router),
       {"router_j"}},
      {kWeights, has_weights, {"no_head_mixing", "per_dimension", "dynamic_router"}},
      {"--decoder lime and a static router with weights",
       has_weights && !options.dynamic_router,
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
  options.router = config.lime.router;
  options.router_j = config.lime.j;
  options.no_head_mixing = !config.lime.head_mixing;
  options.per_dimension = config.lime.per_dimension;
  options.dynamic_router = config.lime.dynamic;
  options.router_initializer_scale = config.lime.initializer_scale;
  options.dwa_dilation = config.denseformer.dilation;
  options.dwa_period = config.denseformer.period;
  options.hyper_rate = config.hyper_connections.rate;
  options.hyper_static = !config.hyper_connections.dynamic;
  options.first_layer_only = config.first_layer_values_only;
  options.attn_res_blocks = config.attn_res.num_blocks;
  options.attn_res_sources = config.attn_res.sources;
  options.attn_res_recency_bias = config.attn_res.recency_bias_init;
  options.hc_mult = config.mhc.hc_mult;
  options.hc_sinkhorn_iters = config.mhc.hc_sinkhorn_iters;
  options.hc_eps = config.mhc.hc_eps;
  options.depth_stride = config.depth_attention.stride;
  options.depth_recent_window = config.depth_attention.recent_window;
  options.mudd_exact_size = !config.mudd.round64;
  options.num_hidden_layers = config.num_hidden_layers;
  options.num_attention_heads = config.num_attention_heads;
  options.num_key_value_heads = config.num_key_value_heads;
  options.hidden_size = config.hidden_size;
  options.intermediate_size = config.intermediate_size;
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
          decoder == "lime" ? fmt::format(" --router {}", enum_name(router)) : "";
      throw InvalidArgument("{}: requires {}, got --decoder {}{}; omit it", name, owner, decoder,
                            router_here);
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
  list.add("router", router, "earlier layers that the LIMe routers read");
  list.add(
      "router_j", router_j,
      "number of layers of the routers last, first and first-and-previous, or step of dilated");
  list.add("no_head_mixing", no_head_mixing, "a routed head reads only its own buffered heads");
  list.add("per_dimension", per_dimension, "routers have one weight for each dimension of a head");
  list.add("dynamic_router", dynamic_router, "routers compute their weights from the token");
  list.add("router_initializer_scale", router_initializer_scale,
           "scale of the random initialization of LIMe routers, relative to the paper, >= 0; 0 "
           "starts as a LLaMA");
  list.add("dwa_dilation", dwa_dilation, "denseformer: averages read every N-th output, >= 1");
  list.add("dwa_period", dwa_period, "denseformer: every N-th layer averages, >= 1");
  list.add("hyper_rate", hyper_rate, "hyper_connections: number of residual streams, >= 1");
  list.add("hyper_static", hyper_static, "hyper_connections: use the same weights for all tokens");
  list.add("first_layer_only", first_layer_only,
           "resformer: all layers read the values of layer 0 (SVFormer)");
  list.add("attn_res_blocks", attn_res_blocks,
           "attn_res: number of blocks, a divisor of the layers; 0: attend to every output");
  list.add("attn_res_sources", attn_res_sources, "attn_res: sources that routers attend to");
  list.add("attn_res_recency_bias", attn_res_recency_bias,
           "attn_res: initial value of a learned bias of the latest source; no bias if not given");
  list.add("hc_mult", hc_mult, "mhc: number of residual streams, 1 to 16");
  list.add("hc_sinkhorn_iters", hc_sinkhorn_iters, "mhc: Sinkhorn iterations, >= 1");
  list.add("hc_eps", hc_eps, "mhc: added to the sums that Sinkhorn iterations divide by, >= 0");
  list.add("depth_stride", depth_stride,
           "depth_attention: later layers read every N-th layer; 0: half the layers");
  list.add("depth_recent_window", depth_recent_window,
           "depth_attention: layers also read the N preceding ones");
  list.add("mudd_exact_size", mudd_exact_size,
           "mudd: do not round the generators' hidden size up to a multiple of 64");
  list.add("num_hidden_layers", num_hidden_layers, "number of layers");
  list.add("num_attention_heads", num_attention_heads, "number of query heads");
  list.add("num_key_value_heads", num_key_value_heads,
           "number of key and value heads; as many as query heads if not given");
  list.add("hidden_size", hidden_size, "width of the residual stream");
  list.add("intermediate_size", intermediate_size,
           "width of the MLP; 4 * hidden size if not given");
  list.add("max_position_embeddings", max_position_embeddings, "longest sequence, in tokens");
  list.add("untie_word_embeddings", untie_word_embeddings,
           "do not share the output projection weights with the embedding");
  list.add("initializer_range", initializer_range,
           "standard deviation of the initial matrices, > 0");
}

ModelConfig ModelOptions::config(std::int64_t vocab_size, std::int64_t bos_token_id,
                                 std::int64_t eos_token_id) const {
  constexpr const char* kWhere = "model";
  throw_if(num_attention_heads < 1 || hidden_size < 1 || hidden_size % num_attention_heads != 0,
           "{}: hidden_size must be a multiple of num_attention_heads, got {} and {}", kWhere,
           hidden_size, num_attention_heads);
  require_start(initializer_range > 0.0, "initializer_range", "> 0", initializer_range);
  require_start(router_initializer_scale >= 0.0, "router_initializer_scale", ">= 0",
                router_initializer_scale);
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
  if (blocks) keys[decoder] = Json::object();
  ModelConfig config = make_model_config(blocks.value_or(decoder), keys, kWhere);
  config.lime = {.router = router,
                 .j = router_j,
                 .head_mixing = !no_head_mixing,
                 .per_dimension = per_dimension,
                 .dynamic = dynamic_router,
                 .initializer_scale = router_initializer_scale};
  config.denseformer = {.dilation = dwa_dilation, .period = dwa_period};
  config.hyper_connections = {.dynamic = !hyper_static, .rate = hyper_rate};
  config.first_layer_values_only = first_layer_only;
  config.attn_res = {.num_blocks = attn_res_blocks,
                     .sources = attn_res_sources,
                     .recency_bias_init = attn_res_recency_bias};
  config.mhc = {.hc_mult = hc_mult, .hc_sinkhorn_iters = hc_sinkhorn_iters, .hc_eps = hc_eps};
  config.depth_attention = {.stride = depth_stride, .recent_window = depth_recent_window};
  config.mudd.round64 = !mudd_exact_size;
  config.validate(kWhere);
  return config;
}

}  // namespace lime

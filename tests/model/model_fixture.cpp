// SPDX-License-Identifier: Apache-2.0
#include "model/model_fixture.h"

#include <fnmatch.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>

#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "core/random.h"
#include "store/hdf5/hdf5_file.h"
#include "support/tiny_checkpoint.h"

namespace lime::testing {

ModelConfig small_config(const std::string& kind) {
  ModelConfig config = tiny_config(kind);
  config.vocab_size = 31;
  config.max_position_embeddings = 200;
  config.bos_token_id = std::nullopt;
  config.eos_token_ids.clear();
  return config;
}

namespace {

NamedConfig lime(const std::string& name, const LimeConfig& router) {
  ModelConfig config = small_config("lime");
  config.lime = router;
  return {"lime_" + name, config};
}

NamedConfig denseformer(const std::string& name, std::int64_t dilation, std::int64_t period) {
  ModelConfig config = small_config("denseformer");
  config.denseformer = {.dilation = dilation, .period = period};
  return {"denseformer_" + name, config};
}

NamedConfig hyper_connections(const std::string& name, bool dynamic, std::int64_t rate) {
  ModelConfig config = small_config("hyper_connections");
  config.hyper_connections = {.dynamic = dynamic, .rate = rate};
  return {"hyper_connections_" + name, config};
}

/// Returns LLaMA's config with another spec.
template <typename Change>
NamedConfig variant(const std::string& name, const Change& change,
                    const std::string& decoder = "llama") {
  ModelConfig config = small_config(decoder);
  change(config.spec, config);
  return {name, config};
}

/// Returns specs that take every branch of the forward pass, in the combinations of families.
std::vector<NamedConfig> spec_configs() {
  using Spec = DecoderSpec;
  using Config = ModelConfig;
  const auto gemma2 = [](Spec& spec, Config&) {
    spec.norm = {.kind = NormKind::kRmsPlusOne, .rounds_after_weight = true};
    spec.norm_placement = NormPlacement::kBoth;
    spec.names.mlp_norm = "pre_feedforward_layernorm";
    spec.activation = Activation::kGeluTanh;
    spec.layers = {{.window = 3, .attention_scale = 0.3},
                   {.attention_scale = 0.3},
                   {.window = 4, .attention_scale = 0.3}};
    spec.attention_softcap = 2.0;
    spec.logits_softcap = 3.0;
    spec.embedding_multiplier = 4.0;
  };
  const auto gpt_neox = [](Spec& spec, Config& config) {
    config.num_key_value_heads = config.num_attention_heads;
    spec.norm = {.kind = NormKind::kLayerNorm, .has_bias = true, .eps = 1e-5};
    spec.rotary_dim = 2;
    spec.qkv_bias = spec.o_bias = spec.mlp_bias = true;
    spec.qkv_layout = QkvLayout::kPerHead;
    spec.gated_mlp = false;
    spec.activation = Activation::kGelu;
    spec.parallel_residual = true;
  };
  const auto gpt2 = [](Spec& spec, Config& config) {
    config.num_key_value_heads = config.num_attention_heads;
    config.tie_word_embeddings = true;
    spec.norm = {.kind = NormKind::kLayerNorm, .has_bias = true, .eps = 1e-5};
    spec.ropes.clear();
    spec.learned_position_offset = 0;
    spec.qkv_bias = spec.o_bias = spec.mlp_bias = true;
    spec.qkv_layout = QkvLayout::kConcatenated;
    spec.transposed_linears = true;
    spec.gated_mlp = false;
    spec.activation = Activation::kGeluTanh;
    spec.layers = {{.attention_scale = 0.4}, {.attention_scale = 0.2}, {.attention_scale = 0.1}};
  };
  const auto opt_350m = [](Spec& spec, Config&) {
    spec.norm = {.kind = NormKind::kLayerNorm, .has_bias = true, .eps = 1e-5};
    spec.norm_placement = NormPlacement::kAfterSum;
    spec.has_final_norm = false;
    spec.names.attention_norm = "self_attn_layer_norm";
    spec.ropes.clear();
    spec.learned_position_offset = 2;
    spec.embedding_size = 16;
    spec.gated_mlp = false;
    spec.activation = Activation::kRelu;
  };
  const auto olmo2 = [](Spec& spec, Config&) {
    spec.norm_placement = NormPlacement::kAfter;
    spec.qk_norm = QkNorm::kWholeProjection;
  };
  const auto qwen3 = [](Spec& spec, Config&) { spec.qk_norm = QkNorm::kPerHead; };
  const auto granite = [](Spec& spec, Config&) {
    spec.residual_multiplier = 0.3;
    spec.logits_divisor = 4.0;
    spec.layers = {{.attention_scale = 0.1}};
  };
  const auto two_ropes = [](Spec& spec, Config&) {
    spec.ropes = {RopeSpec{.theta = 100.0}, RopeSpec{.kind = RopeKind::kYarn,
                                                     .factor = 4.0,
                                                     .attention_factor = 1.1,
                                                     .original_max_position_embeddings = 16}};
    spec.layers = {{.window = 4, .rope = 0}, {.rope = 1}, {.rope = std::nullopt}};
    spec.activation = Activation::kReluSquared;
  };
  const auto experts = [](Spec& spec, Config&) {
    spec.experts = ExpertsSpec{.num_experts = 5,
                               .num_experts_per_tok = 2,
                               .intermediate_size = 12,
                               .normalizes_weights = false,
                               .shared_intermediate_size = 20};
    spec.layers = {{.is_dense = true}, {}, {}};
  };
  return {variant("spec_gemma2", gemma2),
          variant("spec_lime_of_experts", experts, "lime"),
          variant("spec_mhc_of_experts", experts, "mhc"),
          variant("spec_denseformer_of_experts", experts, "denseformer"),
          variant("spec_gpt_neox", gpt_neox),
          variant("spec_gpt2", gpt2),
          variant("spec_opt_350m", opt_350m),
          variant("spec_olmo2", olmo2),
          variant("spec_qwen3", qwen3),
          variant("spec_granite", granite),
          variant("spec_two_ropes", two_ropes),
          variant("spec_lime_of_qwen3", qwen3, "lime"),
          variant("spec_lime_of_olmo2", olmo2, "lime"),
          variant("spec_denseformer_of_gpt_neox", gpt_neox, "denseformer"),
          variant("spec_hyper_connections_of_qwen3", qwen3, "hyper_connections"),
          variant("spec_resformer_of_gpt2", gpt2, "resformer"),
          variant("spec_attn_res_of_qwen3", qwen3, "attn_res"),
          variant("spec_mhc_of_qwen3", qwen3, "mhc"),
          variant("spec_depth_attention_of_gemma2", gemma2, "depth_attention"),
          variant("spec_depth_attention_of_olmo2", olmo2, "depth_attention"),
          variant("spec_mudd_of_qwen3", qwen3, "mudd")};
}

}  // namespace

std::vector<NamedConfig> small_configs() {
  std::vector<NamedConfig> configs;
  for (const std::string& name : decoder_names()) configs.push_back({name, small_config(name)});
  ModelConfig svformer = small_config("resformer");
  svformer.first_layer_values_only = true;
  configs.push_back({"svformer", svformer});
  configs.push_back(denseformer("dilation_2", 2, 1));
  configs.push_back(denseformer("period_2", 1, 2));
  configs.push_back(denseformer("dilation_3_period_2", 3, 2));
  configs.push_back(hyper_connections("static", false, 3));
  configs.push_back(hyper_connections("one_stream", true, 1));
  configs.push_back(lime("average", {.router = RouterKind::kAverage}));
  configs.push_back(lime("last", {.router = RouterKind::kLast, .j = 2}));
  configs.push_back(lime("first", {.router = RouterKind::kFirst, .j = 1}));
  configs.push_back(lime("first_and_previous", {.router = RouterKind::kFirstAndPrevious, .j = 1}));
  configs.push_back(lime("dilated", {.router = RouterKind::kDilated, .j = 2}));
  configs.push_back(lime("no_head_mixing", {.head_mixing = false}));
  configs.push_back(lime("per_dimension", {.per_dimension = true}));
  configs.push_back(
      lime("per_dimension_no_head_mixing", {.head_mixing = false, .per_dimension = true}));
  configs.push_back(lime("dynamic", {.dynamic = true}));
  configs.push_back(lime("dynamic_no_head_mixing", {.head_mixing = false, .dynamic = true}));
  configs.push_back(lime("dynamic_last", {.router = RouterKind::kLast, .j = 2, .dynamic = true}));
  for (const AttnResSources sources :
       {AttnResSources::kOutputs, AttnResSources::kOutputsFromEmbedding, AttnResSources::kStates}) {
    ModelConfig blocks = small_config("attn_res");
    blocks.attn_res = {.num_blocks = sources == AttnResSources::kStates ? 1 : 3,
                       .sources = sources,
                       .recency_bias_init = 0.5};
    std::string name(enum_name(sources));
    std::replace(name.begin(), name.end(), '-', '_');
    configs.push_back({"attn_res_blocks_of_" + name, blocks});
  }
  ModelConfig states = small_config("attn_res");
  states.attn_res.sources = AttnResSources::kStates;
  configs.push_back({"attn_res_states", states});
  ModelConfig one_stream = small_config("mhc");
  one_stream.mhc = {.hc_mult = 1, .hc_sinkhorn_iters = 1, .hc_eps = 0.01};
  configs.push_back({"mhc_one_stream", one_stream});
  ModelConfig window = small_config("depth_attention");
  window.depth_attention = {.stride = 3, .recent_window = 1};
  configs.push_back({"depth_attention_window", window});
  for (NamedConfig& config : spec_configs()) configs.push_back(std::move(config));
  return configs;
}

ModelConfig with_layers(ModelConfig config, std::int64_t num_layers) {
  config.num_hidden_layers = num_layers;
  std::vector<LayerSpec>& layers = config.spec.layers;
  const std::size_t period = layers.size();
  for (std::size_t layer = period; period > 1 && std::ssize(layers) < num_layers; ++layer) {
    layers.push_back(LayerSpec(layers[layer - period]));
  }
  return config;
}

Decoder lively_decoder(const ModelConfig& config, const DecoderOptions& options) {
  Decoder decoder(config, 7, options);
  const torch::NoGradGuard no_grad;
  torch::manual_seed(5);
  for (const auto& [name, tensor] : decoder.parameters()) {
    const bool is_mixing =
        name.find(".hc_") != std::string::npos || name.find("dwa_modules") != std::string::npos ||
        name.find("_res_proj") != std::string::npos || name.find("dense_bs") != std::string::npos ||
        name.find("dynamic_dense") != std::string::npos;
    if (is_mixing) {  // all kinds are initialised as a LLaMA, or as a mean
      tensor.add_(torch::randn_like(tensor), 0.3);
    } else if (name.find("static_weights") != std::string::npos) {
      continue;
    } else if (tensor.dim() == 2) {
      tensor.mul_(10.0);
    } else {
      tensor.add_(torch::linspace(-0.4, 0.4, tensor.numel(), tensor.options()));
    }
  }
  return decoder;
}

DecoderOptions in_double() { return {.dtype = ComputeType::kFloat64}; }

at::Tensor some_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab) {
  Random random(3);
  at::Tensor ids = torch::empty({batch, seq}, torch::kLong);
  std::int64_t* const data = ids.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    data[i] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocab)));
  }
  return ids;
}

at::Tensor golden_tensor(const std::filesystem::path& file, const std::string& dataset) {
  const Hdf5File h5(file);
  const std::vector<std::int64_t> shape = h5.shape(dataset);
  if (dataset == "ids") {
    std::vector<std::int64_t> values = h5.read<std::int64_t>(dataset);
    return torch::from_blob(values.data(), shape, torch::kLong).clone();
  }
  std::vector<double> values = h5.read<double>(dataset);
  return torch::from_blob(values.data(), shape, torch::kDouble).clone();
}

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.sizes() != b.sizes()) return kInfinity;
  const at::Tensor difference = (a.to(torch::kDouble) - b.to(torch::kDouble)).abs();
  if (!difference.isfinite().all().item<bool>()) return kInfinity;
  return difference.numel() == 0 ? 0.0 : difference.max().item<double>();
}

std::vector<HookPoint> all_hook_points(int num_layers) {
  std::vector<HookPoint> points = {{HookKind::kEmbed, 0}};
  for (int layer = 0; layer < num_layers; ++layer) {
    for (const HookKindInfo& info : kHookKinds) {
      if (is_per_layer(info.kind) && info.use != HookUse::kComputedLater) {
        points.push_back({info.kind, layer});
      }
    }
  }
  points.push_back({HookKind::kFinalNormalized, 0});
  return points;
}

bool is_read_only(HookKind kind) { return hook_kind_info(kind).use == HookUse::kReadOnly; }

at::Tensor copied(const HookPoint&, const at::Tensor& activation) { return activation.clone(); }

double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  return max_difference(found, expected) / std::max(1.0, expected.abs().max().item<double>());
}

namespace {

/// Returns the points whose names match a shell pattern.
std::vector<HookPoint> match_hook_points(const std::string& pattern, int num_layers) {
  std::vector<HookPoint> points = all_hook_points(num_layers);
  std::erase_if(points, [&](const HookPoint& point) {
    return ::fnmatch(pattern.c_str(), hook_name(point).c_str(), 0) != 0;
  });
  if (points.empty()) throw InvalidArgument("no hook point matches '{}'", pattern);
  return points;
}

}  // namespace

std::map<std::string, at::Tensor> activations(const Decoder& decoder, const at::Tensor& ids,
                                              const std::vector<std::string>& patterns,
                                              ForwardOptions options) {
  std::map<std::string, at::Tensor> found;
  HookSet hooks;
  std::vector<ScopedHook> readers;
  const auto num_layers = static_cast<int>(decoder.config().num_hidden_layers);
  for (const std::string& pattern : patterns) {
    for (const HookPoint& point : match_hook_points(pattern, num_layers)) {
      readers.push_back(hooks.read(point, [&](const HookPoint& at, const at::Tensor& activation) {
        found[hook_name(at)] = activation.clone();
      }));
    }
  }
  options.hooks = &hooks;
  decoder.forward(ids, options);
  return found;
}

}  // namespace lime::testing

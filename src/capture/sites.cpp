// SPDX-License-Identifier: Apache-2.0
#include "capture/sites.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "checkpoint/router_layout.h"
#include "core/program/suggest.h"
#include "core/utf8.h"
#include "model/kernels/attention.h"
#include "store/lens_row.h"

namespace lime {
namespace {

constexpr std::string_view kBlockPrefix = "blocks.0.";

/// Returns all sites: short names first, then the other hooks that have rows.
std::vector<CaptureSite> all_sites() {
  std::vector<CaptureSite> sites;
  for (const HookSite& site : hook_sites()) sites.push_back({std::string(site.name), site.kind});
  sites.push_back({kKeysSite, HookKind::kK});
  sites.push_back({"logit_lens", HookKind::kLogitLens});
  for (const HookKindInfo& info : kHookKinds) {
    if (info.kind == HookKind::kFinalNormalized || info.kind == HookKind::kAttnScores ||
        is_part_of_depth_weights(info.kind) || info.use == HookUse::kComputedLater) {
      continue;
    }
    const std::string name = hook_name({info.kind, 0});
    sites.push_back({is_per_layer(info.kind) ? name.substr(kBlockPrefix.size()) : name, info.kind});
  }
  return sites;
}

}  // namespace

std::vector<CaptureSite> find_sites(const std::vector<std::string>& names) {
  const std::vector<CaptureSite> known = all_sites();
  std::vector<CaptureSite> sites;
  for (const std::string& name : names) {
    const auto entry = std::ranges::find(known, name, &CaptureSite::name);
    if (entry == known.end()) {
      std::vector<std::string> words;
      for (const CaptureSite& site : known) words.push_back(site.name);
      const std::string closest = closest_word(name, words);
      throw_if(!closest.empty(), OptionName("sites"), "unknown site '{}'; did you mean '{}'?",
               printable(name), closest);
      throw InvalidArgument(OptionName("sites"), "unknown site '{}' (supported: {})",
                            printable(name), join_words(words));
    }
    // The first of the same kind is its short name.
    const auto first = std::ranges::find(known, entry->kind, &CaptureSite::kind);
    throw_if(std::ranges::find(sites, *first) != sites.end(), OptionName("sites"),
             "'{}' is given twice{}", first->name,
             name == first->name ? "" : "; '" + name + "' is another name of it");
    sites.push_back(*first);
  }
  return sites;
}

HookKind site_kind(const std::string& name, const std::vector<CaptureSite>& sites) {
  return std::ranges::find(sites, name, &CaptureSite::name)->kind;
}

std::int64_t site_dim(HookKind kind, const ModelConfig& config, std::int64_t layer) {
  switch (kind) {
    case HookKind::kQ:
    case HookKind::kRotQ:
    case HookKind::kZ: return config.num_attention_heads * config.head_dim;
    case HookKind::kK:
    case HookKind::kV:
    case HookKind::kRoutedK:
    case HookKind::kRoutedV:
    case HookKind::kRotK: return config.num_key_value_heads * config.head_dim;
    case HookKind::kMlpPre:
    case HookKind::kMlpPreLinear:
    case HookKind::kMlpPost: return config.mlp_width(layer);
    case HookKind::kRouterLogits: return config.spec.experts->num_experts;
    case HookKind::kExpertWeights:
    case HookKind::kExpertIndices: return config.spec.experts->num_experts_per_tok;
    case HookKind::kPattern: return config.num_attention_heads;
    case HookKind::kValueResult:
    case HookKind::kResult: return config.num_attention_heads * config.hidden_size;
    case HookKind::kRoute: return config.num_key_value_heads * route_width(config, layer);
    case HookKind::kDepthWeights:
      return std::ssize(depth_reads(config, layer)) * num_depth_sources(config, layer);
    case HookKind::kStreams: return num_streams(config) * config.hidden_size;
    case HookKind::kStreamWeights: return 2 * num_streams(config) * (num_streams(config) + 2);
    case HookKind::kLogitLens: return kLensSize;
    case HookKind::kAttnProfile: return config.num_attention_heads * kProfileSize;
    default: return config.hidden_size;
  }
}

namespace {

/// Returns why no selected layer has a site.
std::string reason_of_absence(HookKind kind, const ModelConfig& config) {
  if (kind == HookKind::kStreams || kind == HookKind::kStreamWeights) {
    return "only hyper_connections and mhc have several residual streams";
  }
  if (!config.spec.experts) return "it needs a mixture of experts";
  return "layers with experts have mlp.hook_router_logits, mlp.hook_expert_weights and "
         "mlp.hook_expert_indices, the others mlp.hook_pre, mlp.hook_pre_linear and mlp.hook_post";
}

/// Returns the layers that have a site: those with experts have a router, the others an MLP.
std::vector<int> layers_having(const CaptureSite& site, const std::vector<int>& selected,
                               const ModelConfig& config) {
  std::vector<int> having;
  std::ranges::copy_if(selected, std::back_inserter(having), [&](int layer) {
    return has_hook(config, {site.kind, layer});
  });
  throw_if(having.empty(), OptionName("sites"), "no selected layer of '{}' has '{}': {}",
           config.family, site.name, reason_of_absence(site.kind, config));
  return having;
}

}  // namespace

std::vector<ActivationInfo> plan_activations(const std::vector<CaptureSite>& sites,
                                             const LayerSelection& layers,
                                             const ModelConfig& config) {
  std::vector<int> available(static_cast<std::size_t>(config.num_hidden_layers));
  std::iota(available.begin(), available.end(), 0);
  const std::vector<int> selected = layers.choose_from(available, OptionName("layers"));
  std::vector<ActivationInfo> activations;
  for (const CaptureSite& site : sites) {
    throw_if(site.kind == HookKind::kMlpPreLinear && !config.spec.gated_mlp, OptionName("sites"),
             "'{}' needs a gated MLP, that of '{}' is plain; use mlp.hook_pre", site.name,
             config.family);
    const std::vector<int> having = layers_having(site, selected, config);
    for (const int layer : is_per_layer(site.kind) ? having : std::vector<int>{0}) {
      activations.push_back({.site = site.name,
                             .layer = layer,
                             .dim = site_dim(site.kind, config, layer),
                             .hook = hook_name({site.kind, layer})});
    }
  }
  return activations;
}

void widen_patterns(std::vector<ActivationInfo>& activations, const std::vector<CaptureSite>& sites,
                    std::int64_t longest) {
  for (ActivationInfo& activation : activations) {
    if (site_kind(activation.site, sites) == HookKind::kPattern) activation.dim *= longest;
  }
}

std::vector<CapturePoint> capture_points(const std::vector<CaptureSite>& sites,
                                         const std::vector<ActivationInfo>& activations,
                                         const ModelConfig& config, int last_layer) {
  std::vector<CapturePoint> points;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const ActivationInfo& info = activations[i];
    CapturePoint& point = points.emplace_back();
    point.point = {site_kind(info.site, sites), info.layer};
    point.site = info.site;
    point.activation = i;
    point.dim = info.dim;
    point.read_dim = point.point.kind == HookKind::kLogitLens ? config.hidden_size : point.dim;
    if (point.point.kind == HookKind::kPattern) {
      point.num_keys = info.dim / config.num_attention_heads;
    }
  }
  for (const auto& [kind, site] :
       {std::pair(HookKind::kK, kKeysSite), std::pair(HookKind::kV, kValuesSite)}) {
    for (int layer = 0; layer <= last_layer; ++layer) {
      const HookPoint hook_point{kind, layer};
      if (std::ranges::find(points, hook_point, &CapturePoint::point) != points.end()) continue;
      const std::int64_t dim = site_dim(kind, config, layer);
      points.push_back({.point = hook_point, .site = site, .dim = dim, .read_dim = dim});
    }
  }
  return points;
}

std::int64_t bytes_per_token(const std::vector<CapturePoint>& points) {
  std::int64_t bytes = 0;
  for (const CapturePoint& point : points) {
    bytes += point.read_dim * static_cast<std::int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace lime

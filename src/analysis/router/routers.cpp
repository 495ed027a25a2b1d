// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/routers.h"

#include <fmt/ranges.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/router_layout.h"
#include "metrics/router/layer_router.h"

namespace lime {
namespace {

using Eigen::Index;

/// Returns the matrix of every dimension, from columns in which the dimension varies fastest.
LayerRouter split_dimensions(const MatrixF& weights, Index head_dim) {
  std::vector<MatrixD> parts;
  for (Index dim = 0; dim < head_dim; ++dim) {
    MatrixD& part = parts.emplace_back(weights.rows(), weights.cols() / head_dim);
    for (Index column = 0; column < part.cols(); ++column) {
      part.col(column) = weights.col(column * head_dim + dim).cast<double>();
    }
  }
  return LayerRouter(std::move(parts));
}

/// Returns the routers of all layers, with the identity for layers before the first router.
/// @param dimensions_of  the weights per dimension of a layer, if it has any
template <typename DimensionsOf>
std::vector<LayerRouter> with_dimensions(const Routers& means, const ModelConfig& config,
                                         const DimensionsOf& dimensions_of) {
  std::vector<LayerRouter> routers;
  for (std::int64_t layer = 0; layer < means.num_layers(); ++layer) {
    if (!config.lime.per_dimension) {
      routers.emplace_back(means.weights[static_cast<std::size_t>(layer)]);
    } else if (const std::optional<MatrixF> weights = dimensions_of(layer)) {
      routers.push_back(split_dimensions(*weights, config.head_dim));
    } else {
      routers.push_back(LayerRouter::identity(layer, means.num_key_value_heads, config.head_dim));
    }
  }
  return routers;
}

/// Returns the site of an input from the residual stream; empty if no site has it.
std::string site_of_input(const ModelConfig& config, const std::string& read) {
  const bool has_streams = config.routing == DepthRouting::kHyperConnections;
  if (read == "final") return "hidden";
  if (has_streams) return "";
  if (read == "mlp" && !config.spec.parallel_residual) return "hook_resid_mid";
  return read == "attn" || read == "mlp" ? "hook_resid_pre" : "";
}

}  // namespace

Routers routers_of(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  throw_if(config.routing != DepthRouting::kNone && config.routing != DepthRouting::kLime,
           "'{}': the weights of '{}' are not parameters; capture them with --sites {} and use the "
           "capture",
           checkpoint.path().string(), config.name(), source_site(config));
  Routers routers = Routers::identity(config.num_hidden_layers, config.num_key_value_heads);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    throw_if(has_dynamic_router(config, layer),
             "'{}': its routers compute their weights from the token; capture them with --sites {} "
             "and use the capture",
             checkpoint.path().string(), kRouteSite);
    const std::optional<MatrixF> router = read_full_router(checkpoint, layer);
    if (router) routers.weights[static_cast<std::size_t>(layer)] = router->cast<double>();
  }
  routers.validate();
  return routers;
}

Routers routers_of(const CaptureReader& capture) {
  const std::string where = quoted_path(capture) + ": config";
  const ModelConfig config = parse_model_config(capture.config(), where);
  Routers routers = Routers::identity(config.num_hidden_layers, config.num_key_value_heads);
  for (const int layer : capture.router_layers()) {
    throw_if<FormatError>(layer < 0 || layer >= routers.num_layers(),
                          "{}: contains a router of layer {}, but its config has {} layers",
                          quoted_path(capture), layer, routers.num_layers());
    routers.weights[static_cast<std::size_t>(layer)] = capture.router(layer).cast<double>();
  }
  try {
    routers.validate();
  } catch (const InvalidArgument& error) {
    throw FormatError("{}: {}", quoted_path(capture), error.what());
  }
  return routers;
}

std::vector<LayerRouter> layer_routers_of(const Checkpoint& checkpoint) {
  return with_dimensions(routers_of(checkpoint), checkpoint.config(), [&](std::int64_t layer) {
    return read_router_dimensions(checkpoint, layer);
  });
}

std::vector<LayerRouter> layer_routers_of(const CaptureReader& capture) {
  const ModelConfig config =
      parse_model_config(capture.config(), quoted_path(capture) + ": config");
  const Routers means = routers_of(capture);
  return with_dimensions(means, config, [&](std::int64_t layer) -> std::optional<MatrixF> {
    const int number = static_cast<int>(layer);
    const std::vector<int> layers = capture.router_layers();
    if (std::ranges::find(layers, number) == layers.end()) return std::nullopt;
    throw_if(!capture.has_router_dimensions(number),
             "{}: contains only the means of routers that have a weight per dimension of a head; "
             "capture again",
             quoted_path(capture));
    MatrixF weights = capture.router_dimensions(number);
    const Index heads = config.num_key_value_heads;
    throw_if<FormatError>(
        weights.rows() != heads || weights.cols() != (layer + 1) * heads * config.head_dim,
        "{}: the router per dimension of layer {} must have the shape [{}, {}], got [{}, {}]",
        quoted_path(capture), layer, heads, (layer + 1) * heads * config.head_dim, weights.rows(),
        weights.cols());
    throw_if<FormatError>(!weights.allFinite(),
                          "{}: the router per dimension of layer {} must be finite",
                          quoted_path(capture), layer);
    return weights;
  });
}

HeadScales head_scales_of(const CaptureReader& capture, const std::string& site,
                          const Routers& routers) {
  HeadScales scales(routers.num_layers(), routers.num_key_value_heads);
  for (Index layer = 0; layer < scales.rows(); ++layer) {
    const VectorD rms = capture.rms_per_head(site, static_cast<int>(layer));
    throw_if<FormatError>(rms.size() != scales.cols(),
                          "{}: {} of layer {} has {} heads, but the router has {}",
                          quoted_path(capture), site, layer, rms.size(), scales.cols());
    scales.row(layer) = rms.transpose();
  }
  return scales;
}

HeadScales dimension_scales_of(const CaptureReader& capture, const std::string& site,
                               std::int64_t num_layers) {
  HeadScales scales(num_layers, capture.dim(site, 0));
  for (Index layer = 0; layer < num_layers; ++layer) {
    const RunningStatistics statistics = capture.statistics(site, static_cast<int>(layer));
    throw_if<FormatError>(statistics.mean.size() != scales.cols(),
                          "{}: {} of layers 0 and {} differ in width", quoted_path(capture), site,
                          layer);
    const auto count = static_cast<double>(statistics.count);
    scales.row(layer) =
        (statistics.mean.array().square() + statistics.m2.array() / count).sqrt().transpose();
  }
  return scales;
}

bool has_all_layers(const CaptureReader& capture, const std::string& site,
                    std::int64_t last_layer) {
  for (std::int64_t layer = 0; layer <= last_layer; ++layer) {
    if (!capture.has(site, static_cast<int>(layer))) return false;
  }
  return true;
}

std::string source_site(const ModelConfig& config) {
  switch (config.routing) {
    case DepthRouting::kLime:
      return config.lime.dynamic && config.lime.router != RouterKind::kNone ? kRouteSite : "";
    case DepthRouting::kResFormer:
    case DepthRouting::kDepthAttention: return kRouteSite;
    case DepthRouting::kNone: return "";
    default: return kDepthWeightsSite;
  }
}

MixedInput mixed_input(const ModelConfig& config, const std::string& read, std::int64_t layer) {
  MixedInput input;
  const int number = static_cast<int>(layer);
  if (read == "values" || read == "keys") {
    input.num_heads = config.num_key_value_heads;
    input.sources = layers_of_site(read, layer);
    if (config.routing == DepthRouting::kDepthAttention) {
      for (int i = 0; i < layer; ++i)
        input.sources[static_cast<std::size_t>(i)].site = "routed_values";
    }
    input.result = {read == "values" ? "routed_values" : "attn.hook_routed_k", number};
    input.weights = {kRouteSite, number};
    input.width = route_width(config, layer);
    input.columns = input.num_heads * input.width;
    return input;
  }
  input.sources = {{"hook_embed", 0}};
  input.width = num_sources_read(config, read, layer);
  for (int part = 0; part + 1 < input.width; ++part) {
    input.sources.push_back({part % 2 == 0 ? "hook_attn_out" : "hook_mlp_out", part / 2});
  }
  if (const std::string site = site_of_input(config, read); !site.empty()) {
    input.result = {site, number};
  }
  input.weights = {kDepthWeightsSite, number};
  const std::vector<std::string_view> reads = depth_reads(config, layer);
  input.first_column =
      (std::ranges::find(reads, read) - reads.begin()) * num_depth_sources(config, layer);
  input.columns = std::ssize(reads) * num_depth_sources(config, layer);
  return input;
}

std::vector<std::string> mixed_inputs(const ModelConfig& config) {
  if (config.routing == DepthRouting::kLime) return {"values", "keys"};
  if (source_site(config) == kRouteSite) return {"values"};
  std::vector<std::string> inputs;
  for (const std::string_view read : depth_reads(config, 0)) {
    if (read != "final") inputs.emplace_back(read);
  }
  return inputs;
}

std::string sites_of(const MixedInput& input) {
  std::vector<std::string> sites;
  for (const SiteLayer& source : input.sources) {
    if (std::ranges::find(sites, source.site) == sites.end()) sites.push_back(source.site);
  }
  if (!input.weights.site.empty()) sites.push_back(input.weights.site);
  return fmt::format("{}", fmt::join(sites, ","));
}

std::optional<SiteLayer> lacking(const CaptureReader& capture, const MixedInput& input) {
  for (const SiteLayer& source : input.sources) {
    if (!capture.has(source.site, source.layer)) return source;
  }
  const SiteLayer& weights = input.weights;
  if (weights.site.empty() || capture.has(weights.site, weights.layer)) return std::nullopt;
  return weights;
}

TokenRouter token_router(const CaptureReader& capture, const MixedInput& input) {
  TokenRouter router{.layer = input.weights.layer,
                     .mean = {},
                     .scales = MatrixD(input.num_heads, input.width),
                     .source_heads = input.source_heads(),
                     .is_sum = input.is_sum()};
  router.mean = capture.statistics(input.weights.site, input.weights.layer)
                    .mean.segment(input.first_column, input.num_heads * input.width);
  const Index heads = router.source_heads;
  for (std::size_t i = 0; i < input.sources.size(); ++i) {
    const auto& [site, layer] = input.sources[i];
    const VectorD rms = capture.statistics(site, layer).rms_per_head(input.num_heads);
    const auto first = static_cast<Index>(i) * heads;
    for (Index head = 0; head < input.num_heads; ++head) {
      if (heads == 1) {
        router.scales(head, first) = rms(head);
      } else {
        router.scales.row(head).segment(first, heads) = rms.transpose();
      }
    }
  }
  return router;
}

MatrixF source_norms(const CaptureReader& capture, const MixedInput& input, std::int64_t first_row,
                     std::int64_t num_rows) {
  MatrixF norms(num_rows, std::ssize(input.sources) * input.num_heads);
  for (std::size_t i = 0; i < input.sources.size(); ++i) {
    const auto& [site, layer] = input.sources[i];
    const MatrixF rows = capture.read_rows(site, layer, first_row, num_rows);
    const Index dim = rows.cols() / input.num_heads;
    for (Index head = 0; head < input.num_heads; ++head) {
      norms.col(static_cast<Index>(i) * input.num_heads + head) =
          rows.middleCols(head * dim, dim).rowwise().norm();
    }
  }
  return norms;
}

MatrixF token_weights(const CaptureReader& capture, const MixedInput& input, std::int64_t first_row,
                      std::int64_t num_rows) {
  const auto& [site, layer] = input.weights;
  throw_if<FormatError>(capture.dim(site, layer) != input.columns,
                        "{}: {} of layer {} must have {} columns, got {}", quoted_path(capture),
                        site, layer, input.columns, capture.dim(site, layer));
  return capture.read_rows(site, layer, first_row, num_rows)
      .middleCols(input.first_column, input.num_heads * input.width);
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/routers_of.h"

#include <algorithm>

#include "analysis/router/mixed_inputs.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/router_layout.h"

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

}  // namespace lime

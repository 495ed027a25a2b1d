// SPDX-License-Identifier: Apache-2.0
#include "analysis/routers_of.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/router_layout.h"
#include "core/errors.h"

namespace lime {
namespace {

using Eigen::Index;

std::string quoted_path(const CaptureReader& capture) {
  return "'" + capture.path().string() + "'";
}

}  // namespace

Routers routers_of(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  Routers routers = Routers::identity(config.num_hidden_layers, config.num_key_value_heads);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (has_dynamic_router(config, layer)) {
      throw InvalidArgument(
          "'{}': its routers compute their weights from the token, and have no map of their own",
          checkpoint.path().string());
    }
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
    if (layer < 0 || layer >= routers.num_layers()) {
      throw FormatError("{}: has a router of layer {}, but its config has {} layers",
                        quoted_path(capture), layer, routers.num_layers());
    }
    routers.weights[static_cast<std::size_t>(layer)] = capture.router(layer).cast<double>();
  }
  try {
    routers.validate();
  } catch (const InvalidArgument& error) {
    throw FormatError("{}: {}", quoted_path(capture), error.what());
  }
  return routers;
}

HeadScales head_scales_of(const CaptureReader& capture, const std::string& site,
                          const Routers& routers) {
  HeadScales scales(routers.num_layers(), routers.num_key_value_heads);
  for (Index layer = 0; layer < scales.rows(); ++layer) {
    const VectorD rms = capture.rms_per_head(site, static_cast<int>(layer));
    if (rms.size() != scales.cols()) {
      throw FormatError("{}: {} of layer {} has {} heads, but the router has {}",
                        quoted_path(capture), site, layer, rms.size(), scales.cols());
    }
    scales.row(layer) = rms.transpose();
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

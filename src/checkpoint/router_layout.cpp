// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/router_layout.h"

#include <algorithm>

#include "checkpoint/parameters.h"

namespace lime {
namespace {

bool has_router(const ModelConfig& config, std::int64_t layer) {
  return config.routing == DepthRouting::kLime && config.lime.router != RouterKind::kNone &&
         layer > 0;
}

/// The layers first ... last, every `step`-th, counted from `last`.
std::vector<std::int64_t> range(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  std::vector<std::int64_t> layers;
  for (std::int64_t layer = last; layer >= first; layer -= step) layers.push_back(layer);
  std::ranges::reverse(layers);
  return layers;
}

/// The stored weights, `dims` per pair of heads, at their place among all buffered heads:
/// [kv_heads, (l + 1) * kv_heads * dims], 0 where the router does not read.
MatrixF spread_router(const Checkpoint& checkpoint, std::int64_t layer, std::int64_t dims) {
  const ModelConfig& config = checkpoint.config();
  const std::int64_t heads = config.num_key_value_heads;
  const std::vector<std::int64_t> sources = router_sources(config.lime, layer);
  const MatrixF stored = checkpoint.read_matrix(
      layer_parameter(config, layer, "self_attn.lime_router.static_weights"));
  const std::int64_t mixed = config.lime.head_mixing ? heads : 1;
  MatrixF router = MatrixF::Zero(heads, (layer + 1) * heads * dims);
  for (std::int64_t s = 0; s < std::ssize(sources); ++s) {
    const std::int64_t to = sources[static_cast<std::size_t>(s)] * heads;
    for (std::int64_t row = 0; row < heads; ++row) {
      for (std::int64_t head = 0; head < mixed; ++head) {
        const std::int64_t column = to + (config.lime.head_mixing ? head : row);
        router.row(row).segment(column * dims, dims) =
            stored.row(row).segment((s * mixed + head) * dims, dims);
      }
    }
  }
  return router;
}

}  // namespace

std::vector<std::int64_t> router_sources(const LimeConfig& config, std::int64_t layer) {
  const std::int64_t j = config.j;
  switch (config.router) {
    case RouterKind::kFull:
    case RouterKind::kAverage:
      break;
    case RouterKind::kLast:
      return range(std::max<std::int64_t>(0, layer - j + 1), layer);
    case RouterKind::kDilated:
      return range(0, layer, j);
    case RouterKind::kNone:
      return {layer};
    case RouterKind::kFirst:
    case RouterKind::kFirstAndPrevious: {
      std::vector<std::int64_t> layers = range(0, std::min(j - 1, layer));
      const std::int64_t newest = config.router == RouterKind::kFirst ? layer : layer - 1;
      if (newest > layers.back()) layers.push_back(newest);
      return layers;
    }
  }
  return range(0, layer);
}

std::vector<std::int64_t> depth_attention_sources(const ModelConfig& config, std::int64_t layer) {
  const DepthAttentionConfig& own = config.depth_attention;
  const std::int64_t half = std::max<std::int64_t>(1, config.num_hidden_layers / 2);
  const std::int64_t stride = own.stride == 0 ? half : own.stride;
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i <= layer; ++i) {
    if (i == layer || i % stride == 0 || i >= layer - own.recent_window) layers.push_back(i);
  }
  return layers;
}

std::vector<std::string_view> depth_reads(const ModelConfig& config, std::int64_t layer) {
  std::vector<std::string_view> reads = {"attn", "mlp"};
  if (config.routing == DepthRouting::kMudd) reads = {"q", "k", "v", "mlp"};
  if (layer + 1 == config.num_hidden_layers) reads.push_back("final");
  return reads;
}

std::int64_t num_depth_sources(const ModelConfig& config, std::int64_t layer) {
  return 2 * layer + (layer + 1 == config.num_hidden_layers ? 3 : 2);
}

std::int64_t route_width(const ModelConfig& config, std::int64_t layer) {
  const bool is_lime =
      config.routing == DepthRouting::kLime && config.lime.router != RouterKind::kNone;
  return (layer + 1) * (is_lime ? config.num_key_value_heads : 1);
}

bool has_static_router(const ModelConfig& config, std::int64_t layer) {
  return has_router(config, layer) && !config.lime.dynamic &&
         config.lime.router != RouterKind::kAverage;
}

bool has_dynamic_router(const ModelConfig& config, std::int64_t layer) {
  return has_router(config, layer) && config.lime.dynamic;
}

Shape static_router_shape(const ModelConfig& config, std::int64_t layer) {
  std::int64_t columns = std::ssize(router_sources(config.lime, layer));
  if (config.lime.head_mixing) columns *= config.num_key_value_heads;
  if (config.lime.per_dimension) columns *= config.head_dim;
  return {config.num_key_value_heads, columns};
}

std::optional<MatrixF> read_full_router(const Checkpoint& checkpoint, std::int64_t layer) {
  const ModelConfig& config = checkpoint.config();
  if (!has_router(config, layer) || has_dynamic_router(config, layer)) return std::nullopt;
  const std::int64_t heads = config.num_key_value_heads;
  if (config.lime.router == RouterKind::kAverage) {
    const std::vector<std::int64_t> sources = router_sources(config.lime, layer);
    MatrixF router = MatrixF::Zero(heads, (layer + 1) * heads);
    for (const std::int64_t source : sources) {
      router.middleCols(source * heads, heads).diagonal().fill(1.0F / float(sources.size()));
    }
    return router;
  }
  if (!config.lime.per_dimension) return spread_router(checkpoint, layer, 1);
  const MatrixF all = spread_router(checkpoint, layer, config.head_dim);
  MatrixF means(heads, (layer + 1) * heads);
  for (std::int64_t row = 0; row < heads; ++row) {
    for (std::int64_t source = 0; source < means.cols(); ++source) {
      means(row, source) = all.row(row).segment(source * config.head_dim, config.head_dim).mean();
    }
  }
  return means;
}

std::optional<MatrixF> read_router_dimensions(const Checkpoint& checkpoint, std::int64_t layer) {
  const ModelConfig& config = checkpoint.config();
  if (!has_static_router(config, layer) || !config.lime.per_dimension) return std::nullopt;
  return spread_router(checkpoint, layer, config.head_dim);
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/router_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

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
    const std::int64_t to = sources[s] * heads;
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
    case RouterKind::kAverage: break;
    case RouterKind::kLast: return range(std::max<std::int64_t>(0, layer - j + 1), layer);
    case RouterKind::kDilated: return range(0, layer, j);
    case RouterKind::kNone: return {layer};
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

std::int64_t num_sources_read(const ModelConfig& config, std::string_view read,
                              std::int64_t layer) {
  if (read == "final") return num_depth_sources(config, layer);
  return 2 * layer + (read == "mlp" && !config.spec.parallel_residual ? 2 : 1);
}

std::int64_t num_streams(const ModelConfig& config) {
  switch (config.routing) {
    case DepthRouting::kHyperConnections: return config.hyper_connections.rate;
    case DepthRouting::kManifoldHyperConnections: return config.mhc.hc_mult;
    default: return 0;
  }
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

namespace {

constexpr const char* kFormat = "lime-router-edit/1";
constexpr std::int64_t kAny = -1;  // no part of a route is negative

/// Parts of a route and their keys.
using RoutePart = std::optional<std::int64_t> RouterEdit::*;
constexpr std::array<std::pair<const char*, RoutePart>, 4> kParts = {
    {{"layer", &RouterEdit::layer},
     {"head", &RouterEdit::head},
     {"source", &RouterEdit::source},
     {"source_head", &RouterEdit::source_head}}};

RouterEdit parse_edit(const Json& json, const std::string& where) {
  if (!json.is_object()) throw FormatError("{}: must be an object, got {}", where, json.dump());
  RouterEdit edit;
  bool has_scale = false;
  for (const auto& [key, value] : json.items()) {
    const auto part = std::ranges::find_if(
        kParts, [&key = key](const auto& known) { return key == known.first; });
    if (part != kParts.end()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
        throw FormatError("{}: {} must be a whole number >= 0, got {}", where, key, value.dump());
      }
      edit.*part->second = value.get<std::int64_t>();
    } else if (key == "scale") {
      if (!value.is_number() || !std::isfinite(value.get<double>())) {
        throw FormatError("{}: scale must be a finite number, got {}", where, value.dump());
      }
      edit.scale = value.get<double>();
      has_scale = true;
    } else {
      throw FormatError("{}: unknown key '{}' (supported: layer, head, source, source_head, scale)",
                        where, key);
    }
  }
  if (!has_scale) throw FormatError("{}: scale is missing; 0 disables the route", where);
  return edit;
}

/// Returns the part of an edit that the model lacks, or nothing; the caller prepends `edit N`.
std::string fault_of(const RouterEdit& edit, const ModelConfig& config) {
  const std::int64_t heads = config.num_key_value_heads;
  const std::int64_t layers = config.num_hidden_layers;
  if (edit.layer && (*edit.layer < 1 || *edit.layer >= layers)) {
    return fmt::format("layer must be from 1 to {} because layer 0 has no router, got {}",
                       layers - 1, *edit.layer);
  }
  for (const auto& [name, head] :
       {std::pair("head", edit.head), std::pair("source_head", edit.source_head)}) {
    if (head && *head >= heads) {
      return fmt::format("{} must be from 0 to {}, got {}", name, heads - 1, *head);
    }
  }
  if (!config.lime.head_mixing && edit.head && edit.source_head && edit.head != edit.source_head) {
    return fmt::format(
        "head and source_head must be equal because these routers do not mix heads, got {} and {}",
        *edit.head, *edit.source_head);
  }
  if (!edit.source) return "";
  const std::int64_t last = edit.layer.value_or(layers - 1);
  for (std::int64_t layer = edit.layer.value_or(1); layer <= last; ++layer) {
    const auto sources = router_sources(config.lime, layer);
    if (std::ranges::find(sources, *edit.source) != sources.end()) return "";
  }
  if (!edit.layer)
    return fmt::format("source must be a layer that the router reads, got {}", *edit.source);
  return fmt::format("source must be one of the layers {} that layer {} reads, got {}",
                     fmt::join(router_sources(config.lime, *edit.layer), ", "), *edit.layer,
                     *edit.source);
}

}  // namespace

bool RouterEdit::names_same_as(const RouterEdit& other) const {
  return layer == other.layer && head == other.head && source == other.source &&
         source_head == other.source_head;
}

std::vector<RouterEdit> parse_router_edits(const Json& json, const std::string& where) {
  const Json format = json.is_object() ? json.value("format", Json()) : json;
  throw_if<FormatError>(format != kFormat, "{}: must be an object with \"format\": \"{}\", got {}",
                        where, kFormat, format.dump());
  const auto list = json.find("edits");
  throw_if<FormatError>(list == json.end() || !list->is_array() || list->empty(),
                        "{}: edits must be a non-empty list", where);
  std::vector<RouterEdit> edits;
  for (std::size_t i = 0; i < list->size(); ++i) {
    edits.push_back(parse_edit((*list)[i], fmt::format("{}: edit {}", where, i)));
  }
  return edits;
}

Json router_edits_to_json(const std::vector<RouterEdit>& edits) {
  Json list = Json::array();
  for (const RouterEdit& edit : edits) {
    Json json = Json::object();
    for (const auto& [key, part] : kParts) {
      if (edit.*part) json[key] = *(edit.*part);
    }
    json["scale"] = edit.scale;
    list.push_back(std::move(json));
  }
  return {{"format", kFormat}, {"edits", std::move(list)}};
}

void check_router_edits(const std::vector<RouterEdit>& edits, const ModelConfig& config) {
  if (edits.empty()) return;
  throw_if(config.routing != DepthRouting::kLime || !has_static_router(config, 1),
           "router edit: the model must be a LIMe with static router weights, got {}{}",
           config.name(),
           config.routing == DepthRouting::kLime
               ? fmt::format(" with {} routers",
                             config.lime.dynamic ? "dynamic" : enum_name(config.lime.router))
               : "");
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const std::string fault = fault_of(edits[i], config);
    if (!fault.empty()) throw InvalidArgument("router edit {}: {}", i, fault);
  }
}

RouteScales::RouteScales(const std::vector<RouterEdit>& edits) {
  for (const RouterEdit& edit : edits) {
    std::array<bool, 4> names{};
    Route route{};
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      names[i] = (edit.*kParts[i].second).has_value();
      route[i] = (edit.*kParts[i].second).value_or(kAny);
    }
    auto group = std::ranges::find(groups_, names, &Group::names);
    if (group == groups_.end()) group = groups_.insert(group, {.names = names, .scales = {}});
    group->scales.try_emplace(route, 1.0).first->second *= edit.scale;
  }
}

double RouteScales::at(std::int64_t layer, std::int64_t head, std::int64_t source,
                       std::int64_t source_head) const {
  double scale = 1.0;
  for (const Group& group : groups_) {
    Route route = {layer, head, source, source_head};
    for (std::size_t i = 0; i < route.size(); ++i) {
      if (!group.names[i]) route[i] = kAny;
    }
    const auto found = group.scales.find(route);
    if (found != group.scales.end()) scale *= found->second;
  }
  return scale;
}

MatrixD RouteScales::block(std::int64_t layer, std::int64_t source,
                           std::int64_t num_key_value_heads) const {
  MatrixD scales(num_key_value_heads, num_key_value_heads);
  for (std::int64_t head = 0; head < num_key_value_heads; ++head) {
    for (std::int64_t other = 0; other < num_key_value_heads; ++other) {
      scales(head, other) = at(layer, head, source, other);
    }
  }
  return scales;
}

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"
#include "core/json.h"
#include "core/matrix.h"

namespace lime {

/// Returns the layers whose keys and values the router of `layer` reads, oldest first.
///
///   full, average        0 ... l
///   last j               max(0, l - j + 1) ... l
///   first j              0 ... j - 1, and l
///   first-and-previous j 0 ... j - 1 up to l, and l - 1
///   dilated j            l, l - j, l - 2 j, ...
///
/// @param layer  l, from 0; layer 0 has no router and reads itself.
/// Source: Gerasimov et al. (2025), arXiv:2502.09245; docs/numerics.md has our readings of it.
std::vector<std::int64_t> router_sources(const LimeConfig& config, std::int64_t layer);

/// Returns the layers whose values `layer` mixes in Depth-Attention, oldest first, its own last.
std::vector<std::int64_t> depth_attention_sources(const ModelConfig& config, std::int64_t layer);

/// Returns the names of what reads the residual stream in `layer`, in the order of
/// `hook_depth_weights`: attn and mlp, or q, k, v and mlp; in the last layer also final.
std::vector<std::string_view> depth_reads(const ModelConfig& config, std::int64_t layer);

/// Returns the number of sources that `layer` can read: the embedding, then attention and MLP of
/// each layer, up to the attention of `layer` or, in the last layer, to its MLP.
std::int64_t num_depth_sources(const ModelConfig& config, std::int64_t layer);

/// Returns the number of sources that come before one of the reads of a layer.
std::int64_t num_sources_read(const ModelConfig& config, std::string_view read, std::int64_t layer);

/// Returns the number of residual streams of Hyper-Connections and mHC; 0 for other decoders.
std::int64_t num_streams(const ModelConfig& config);

/// Returns the weights per head of `attn.hook_route`: one per layer, or for LIMe one per its heads.
std::int64_t route_width(const ModelConfig& config, std::int64_t layer);

/// Returns true if the router of `layer` has weights that are parameters and do not depend on the
/// token:
/// `self_attn.lime_router.static_weights`.
bool has_static_router(const ModelConfig& config, std::int64_t layer);

/// Returns true if the router's weights are computed from the token.
bool has_dynamic_router(const ModelConfig& config, std::int64_t layer);

/// Returns the shape of static_weights, with S sources:
///
///   [kv_heads, S * kv_heads]              column = source * kv_heads + buffered head
///   [kv_heads, S * kv_heads * head_dim]   per dimension, which runs fastest
///   [kv_heads, S], [kv_heads, S * head_dim]   the same without head mixing
Shape static_router_shape(const ModelConfig& config, std::int64_t layer);

/// Returns the equivalent full router, [kv_heads, (l + 1) * kv_heads]: row = routed head, column =
/// buffered layer * kv_heads + buffered head, 0 where it does not read; a mean over dimensions.
/// @return nothing for layer 0 and for weights that depend on the token.
std::optional<MatrixF> read_full_router(const Checkpoint& checkpoint, std::int64_t layer);

/// Returns the same for every dimension, [kv_heads, (l + 1) * kv_heads * head_dim]: column =
/// (buffered layer * kv_heads + buffered head) * head_dim + dimension.
/// @return nothing as read_full_router(), and where routers are not per dimension.
std::optional<MatrixF> read_router_dimensions(const Checkpoint& checkpoint, std::int64_t layer);

/// Scales the routes of LIMe that match all given fields; an absent field matches all values.
struct RouterEdit {
  std::optional<std::int64_t> layer;        ///< whose router it is, >= 1
  std::optional<std::int64_t> head;         ///< routed head
  std::optional<std::int64_t> source;       ///< buffered layer that is read
  std::optional<std::int64_t> source_head;  ///< buffered head
  double scale = 0.0;                       ///< of the weight; 0 switches the route off

  /// Returns true if both select the same routes, regardless of their scales.
  bool names_same_as(const RouterEdit& other) const;
  bool changes_nothing() const { return scale == 1.0; }

  bool operator==(const RouterEdit&) const = default;
};

/// Parses {"format": "lime-router-edit/1", "edits": [{"layer": 3, "scale": 0}, ...]}
/// (docs/interventions.md).
/// @throws FormatError  that begins with `where` and names the edit and its first fault.
std::vector<RouterEdit> parse_router_edits(const Json& json, const std::string& where);

/// Returns the JSON that parse_router_edits() reads. @param edits  at least one
Json router_edits_to_json(const std::vector<RouterEdit>& edits);

/// Checks that every edit names a route that this model has.
/// @throws InvalidArgument  that names the first edit that does not, and what there is.
void check_router_edits(const std::vector<RouterEdit>& edits, const ModelConfig& config);

/// Provides the scales of routes: for each route the product of the scales of all edits that select
/// it. The time of a look-up does not depend on the number of edits. Thread-safe.
class RouteScales {
 public:
  explicit RouteScales(const std::vector<RouterEdit>& edits);

  double at(std::int64_t layer, std::int64_t head, std::int64_t source,
            std::int64_t source_head) const;

  /// Returns the scales of all routes from layer `source` to `layer`, [head, source_head].
  MatrixD block(std::int64_t layer, std::int64_t source, std::int64_t num_key_value_heads) const;

 private:
  /// layer, head, source and source_head, or kAny where an edit does not name it.
  using Route = std::array<std::int64_t, 4>;

  /// Edits that name the same of the four parts of a route.
  struct Group {
    std::array<bool, 4> names{};
    std::map<Route, double> scales;
  };
  std::vector<Group> groups_;  // at most 16
};

}  // namespace lime

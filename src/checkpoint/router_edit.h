// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "core/json.h"
#include "core/matrix.h"

namespace lime {

/// Scales the routes of LIMe that match all given fields; an absent field matches all values.
struct RouterEdit {
  std::optional<std::int64_t> layer;        ///< whose router it is, >= 1
  std::optional<std::int64_t> head;         ///< routed head
  std::optional<std::int64_t> source;       ///< buffered layer that is read
  std::optional<std::int64_t> source_head;  ///< buffered head
  double scale = 0.0;                       ///< of the weight; 0 switches the route off

  /// Returns true if both select the same routes, regardless of their scales.
  bool names_same_as(const RouterEdit& other) const;

  bool operator==(const RouterEdit&) const = default;
};

/// Parses {"format": "lime-router-edit/1", "edits": [{"layer": 3, "scale": 0}, ...]}; docs/cli.md
/// has the fields.
/// @throws IoError, FormatError  that names the file, the edit and its first fault.
std::vector<RouterEdit> read_router_edits(const std::filesystem::path& path);
std::vector<RouterEdit> parse_router_edits(const Json& json, const std::string& where);

/// Returns the JSON that parse_router_edits() reads. @param edits  at least one
Json router_edits_to_json(const std::vector<RouterEdit>& edits);

/// Checks that every edit names a route that this model has.
/// @throws InvalidArgument  that names the first edit that does not, and what there is; also where
///                          the model has no routers, or routers without weights of their own.
void check_router_edits(const std::vector<RouterEdit>& edits, const ModelConfig& config);

/// Provides the scales of routes: for each route the product of the scales of all edits that select
/// it. The time of a look-up does not depend on the number of edits. Thread-safe.
class RouteScales {
 public:
  explicit RouteScales(const std::vector<RouterEdit>& edits);

  double at(std::int64_t layer, std::int64_t head, std::int64_t source,
            std::int64_t source_head) const;

  /// Returns the scales of all routes from the heads of the buffered layer `source` to those of
  /// `layer`, [head, source_head].
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "core/json.h"
#include "core/matrix.h"

namespace lime {

/// Scales routes of LIMe: those whose ends are named; what is not named stands for all.
struct RouterEdit {
  std::optional<std::int64_t> layer;        ///< whose router it is, >= 1
  std::optional<std::int64_t> head;         ///< routed head
  std::optional<std::int64_t> source;       ///< buffered layer that is read
  std::optional<std::int64_t> source_head;  ///< buffered head
  double scale = 0.0;                       ///< of the weight; 0 switches the route off

  bool names(std::int64_t of_layer, std::int64_t of_head, std::int64_t of_source,
             std::int64_t of_source_head) const;
  /// Whether both name the same routes, whatever their scales.
  bool names_same_as(const RouterEdit& other) const;

  bool operator==(const RouterEdit&) const = default;
};

/// Parses {"format": "lime-router-edit/1", "edits": [{"layer": 3, "scale": 0}, ...]}; docs/cli.md
/// has the fields.
/// @throws IoError, FormatError  that names the file, the edit and its first fault.
std::vector<RouterEdit> read_router_edits(const std::filesystem::path& path);
std::vector<RouterEdit> parse_router_edits(const Json& json, const std::string& where);

/// What parse_router_edits() reads. @param edits  at least one, or it reads it as a fault.
Json router_edits_to_json(const std::vector<RouterEdit>& edits);

/// Checks that every edit names a route that this model has.
/// @throws InvalidArgument  that names the first edit that does not, and what there is; also where
///                          the model has no routers, or routers without weights of their own.
void check_router_edits(const std::vector<RouterEdit>& edits, const ModelConfig& config);

/// The product of the scales of all edits that name this route.
double edited_scale(const std::vector<RouterEdit>& edits, std::int64_t layer, std::int64_t head,
                    std::int64_t source, std::int64_t source_head);

/// edited_scale() of all routes from the heads of the buffered layer `source` to those of `layer`,
/// [head, source_head], in one walk over the edits and one over those that name some of them.
MatrixD edited_scales(const std::vector<RouterEdit>& edits, std::int64_t layer, std::int64_t source,
                      std::int64_t num_key_value_heads);

}  // namespace lime

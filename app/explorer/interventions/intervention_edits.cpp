// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_edits.h"

#include <cstdint>
#include <optional>
#include <tuple>

#include "analysis/router/edited_routers.h"

namespace lime::explorer {

RouterEdit routesOf(RouteScope scope, const Selection& selection) {
  const std::optional<std::int64_t> all;
  const auto& [layer, head, source, source_head] =
      std::tie(selection.layer, selection.head, selection.source_layer, selection.source_head);
  switch (scope) {
    case RouteScope::kWeight: return {layer, head, source, source_head, 1.0};
    case RouteScope::kHeadSource: return {layer, head, source, all, 1.0};
    case RouteScope::kHead: return {layer, head, all, all, 1.0};
    case RouteScope::kLayerSource: return {layer, all, source, all, 1.0};
    case RouteScope::kLayer: return {layer, all, all, all, 1.0};
    case RouteScope::kSource: return {all, all, source, all, 1.0};
    case RouteScope::kSourceHead: return {all, all, source, source_head, 1.0};
  }
  return {layer, head, source, source_head, 1.0};
}

QString routesText(const RouterEdit& routes, int layer_base) {
  const auto nameOf = [layer_base](const auto& layer, const auto& head, const QString& all) {
    if (layer && head) {
      return u"head %1 of layer %2"_s.arg(*head + layer_base).arg(*layer + layer_base);
    }
    if (layer) return u"layer %1"_s.arg(*layer + layer_base);
    if (head) return u"head %1 of every layer"_s.arg(*head + layer_base);
    return all;
  };
  const QString reader = nameOf(routes.layer, routes.head, u"every layer"_s);
  if (!routes.source && !routes.source_head) return u"%1 from all sources"_s.arg(reader);
  return u"%1 from %2"_s.arg(reader, nameOf(routes.source, routes.source_head, {}));
}

QString actionText(const RouterEdit& routes, int layer_base) {
  QString action = u"Scale"_s;
  if (routes.scale == 0.0) action = u"Ablate"_s;
  if (routes.changes_nothing()) action = u"Restore"_s;
  return action + u' ' + routesText(routes, layer_base);
}

Json editsToJson(const EditsByCheckpoint& edits) {
  Json json = Json::object();
  for (const auto& [path, own] : edits) json[path] = router_edits_to_json(own).at("edits");
  return json;
}

EditsByCheckpoint editsFromJson(const Json& json) {
  throw_if<FormatError>(!json.is_object(), "session: edits must be an object, got {}",
                        printable(json.dump()));
  EditsByCheckpoint edits;
  for (const auto& [path, own] : json.items()) {
    if (own.empty()) continue;
    edits[path] = parse_router_edits({{"format", "lime-router-edit/1"}, {"edits", own}}, "session");
  }
  return edits;
}

InterventionEdits::InterventionEdits() {
  using One = const RouterEdit&;
  std::vector<TableColumn<RouterEdit>> columns = firstColumns(
      [this](One edit) { return routesText(edit, layer_base_); },
      [](One edit) { return edit.scale == 0.0 ? u"ablated"_s : scaleText(edit.scale); },
      u"Factor of the weights; edits that share a route multiply"_s);
  columns.push_back({u"Weights"_s,
                     [this](One edit) {
                       return QString::number(num_edited_weights(edit, num_layers_, num_heads_));
                     },
                     true, u"Number of router weights that the edit changes"_s});
  setTable(std::move(columns), {});
}

void InterventionEdits::setShape(std::int64_t num_layers, std::int64_t num_heads, int layer_base) {
  num_layers_ = num_layers;
  num_heads_ = num_heads;
  layer_base_ = layer_base;
  updateRows(rows());
}

}  // namespace lime::explorer

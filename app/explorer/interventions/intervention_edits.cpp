// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_edits.h"

#include <cmath>

#include "analysis/router/edited_routers.h"

namespace lime::explorer {

RouterEdit routesOf(RouteScope scope, const Selection& selection) {
  struct Parts {
    bool layer, head, source, source_head;
  };
  static constexpr Parts kParts[kNumRouteScopes] = {
      {true, true, true, true},   {true, true, true, false},   {true, true, false, false},
      {true, false, true, false}, {true, false, false, false}, {false, false, true, false},
      {false, false, true, true}};
  const Parts& parts = kParts[static_cast<std::size_t>(scope)];
  RouterEdit routes;
  routes.scale = 1.0;
  if (parts.layer) routes.layer = selection.layer;
  if (parts.head) routes.head = selection.head;
  if (parts.source) routes.source = selection.source_layer;
  if (parts.source_head) routes.source_head = selection.source_head;
  return routes;
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
  const auto name = [this](One edit) { return routesText(edit, layer_base_); };
  setTable({{.title = u"Edit"_s,
             .text = name,
             .tool_tip = name,
             .further =
                 [name](One edit, int role) {
                   return role == Qt::EditRole ? QVariant(name(edit)) : QVariant();
                 }},
            {.title = u"Scale"_s,
             .text =
                 [](One edit) {
                   return edit.scale == 0.0 ? u"ablated"_s : u"× %1"_s.arg(edit.scale, 0, 'g', 4);
                 },
             .is_number = true,
             .help = u"Factor of the weights; edits that share a route multiply"_s,
             .further =
                 [](One edit, int role) {
                   return role == Qt::EditRole ? QVariant(edit.scale) : QVariant();
                 }},
            {u"Weights"_s,
             [this](One edit) {
               return QString::number(num_edited_weights(edit, num_layers_, num_heads_));
             },
             true, u"Number of router weights that the edit changes"_s}},
           {});
}

void InterventionEdits::setEdits(std::vector<RouterEdit> edits) {
  if (edits != rows()) setRows(std::move(edits));
}

void InterventionEdits::setCheckpoint(const std::string& path) {
  if (path == checkpoint_) return;
  EditsByCheckpoint all = this->all();
  checkpoint_ = path;
  setAll(std::move(all));
}

EditsByCheckpoint InterventionEdits::all() const {
  EditsByCheckpoint all = others_;
  if (!edits().empty()) all[checkpoint_] = edits();
  return all;
}

void InterventionEdits::setAll(EditsByCheckpoint all) {
  auto own = all.extract(checkpoint_);
  others_ = std::move(all);
  setEdits(own.empty() ? std::vector<RouterEdit>() : std::move(own.mapped()));
}

void InterventionEdits::setShape(std::int64_t num_layers, std::int64_t num_heads, int layer_base) {
  num_layers_ = num_layers;
  num_heads_ = num_heads;
  layer_base_ = layer_base;
  updateRows(rows());
}

double InterventionEdits::scaleOf(const RouterEdit& routes) const {
  const auto found = std::find_if(rows().begin(), rows().end(), [&](const RouterEdit& edit) {
    return edit.names_same_as(routes);
  });
  return found == rows().end() ? 1.0 : found->scale;
}

std::vector<RouterEdit> InterventionEdits::with(std::vector<RouterEdit> edits,
                                                const RouterEdit& routes) {
  const auto found = std::find_if(edits.begin(), edits.end(), [&](const RouterEdit& edit) {
    return edit.names_same_as(routes);
  });
  if (found == edits.end()) {
    if (routes.scale != 1.0) edits.push_back(routes);
  } else if (routes.scale == 1.0) {
    edits.erase(found);
  } else {
    found->scale = routes.scale;
  }
  return edits;
}

Qt::ItemFlags InterventionEdits::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (index.isValid() && index.column() == kScale) flags |= Qt::ItemIsEditable;
  return flags;
}

bool InterventionEdits::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !index.isValid() || index.column() != kScale) return false;
  bool is_number = false;
  const double scale = value.toDouble(&is_number);
  if (!is_number || !std::isfinite(scale)) return false;
  RouterEdit edit = at(index.row());
  edit.scale = scale;
  Q_EMIT scaleEntered(edit);
  return true;
}

}  // namespace lime::explorer

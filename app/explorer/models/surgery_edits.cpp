// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/surgery_edits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/edited_routers.h"

namespace lime::explorer {

RouterEdit routesOf(RouteScope scope, const Selection& selection) {
  RouterEdit routes;
  routes.scale = 1.0;
  const bool of_reader = scope != RouteScope::kSource && scope != RouteScope::kSourceHead;
  const bool of_source = scope != RouteScope::kHead && scope != RouteScope::kLayer;
  if (of_reader) routes.layer = selection.layer;
  if (scope == RouteScope::kWeight || scope == RouteScope::kHeadSource ||
      scope == RouteScope::kHead) {
    routes.head = selection.head;
  }
  if (of_source) routes.source = selection.source_layer;
  if (scope == RouteScope::kWeight || scope == RouteScope::kSourceHead) {
    routes.source_head = selection.source_head;
  }
  return routes;
}

QString routesText(const RouterEdit& routes, int layer_base) {
  const auto nameOf = [layer_base](const auto& layer, const auto& head, const QString& all) {
    if (layer && head) {
      return QStringLiteral("head %1 of layer %2").arg(*head).arg(*layer + layer_base);
    }
    if (layer) return QStringLiteral("layer %1").arg(*layer + layer_base);
    if (head) return QStringLiteral("head %1 of every layer").arg(*head);
    return all;
  };
  const QString reader = nameOf(routes.layer, routes.head, QStringLiteral("every layer"));
  if (!routes.source && !routes.source_head) return QStringLiteral("all that %1 reads").arg(reader);
  return QStringLiteral("what %1 reads of %2")
      .arg(reader, nameOf(routes.source, routes.source_head, {}));
}

void SurgeryEdits::setEdits(std::vector<RouterEdit> edits) {
  if (edits == edits_) return;
  beginResetModel();
  edits_ = std::move(edits);
  endResetModel();
}

void SurgeryEdits::setShape(std::int64_t num_layers, std::int64_t num_heads, int layer_base) {
  num_layers_ = num_layers;
  num_heads_ = num_heads;
  layer_base_ = layer_base;
  if (!edits_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

double SurgeryEdits::scaleOf(const RouterEdit& routes) const {
  const auto found = std::find_if(edits_.begin(), edits_.end(), [&](const RouterEdit& edit) {
    return edit.names_same_as(routes);
  });
  return found == edits_.end() ? 1.0 : found->scale;
}

std::vector<RouterEdit> SurgeryEdits::with(std::vector<RouterEdit> edits,
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

int SurgeryEdits::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(edits_.size());
}

int SurgeryEdits::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant SurgeryEdits::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const RouterEdit& edit = edits_[static_cast<std::size_t>(index.row())];
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((index.column() == kRoutes ? Qt::AlignLeft : Qt::AlignRight) |
                            Qt::AlignVCenter);
  }
  if (role == Qt::EditRole && index.column() == kScale) return edit.scale;
  if (role == Qt::ToolTipRole && index.column() == kRoutes) {
    return routesText(edit, layer_base_);
  }
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  switch (index.column()) {
    case kRoutes:
      return routesText(edit, layer_base_);
    case kScale:
      return edit.scale == 0.0 ? QStringLiteral("off")
                               : QStringLiteral("× %1").arg(edit.scale, 0, 'g', 4);
    case kWeights:
      return QString::number(num_edited_weights(edit, num_layers_, num_heads_));
    default:
      return {};
  }
}

QVariant SurgeryEdits::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kScale:
        return QStringLiteral("Factor of the weights; edits that share a route multiply");
      case kWeights:
        return QStringLiteral("How many weights of the routers the edit names");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kRoutes:
      return QStringLiteral("Edit");
    case kScale:
      return QStringLiteral("Scale");
    case kWeights:
      return QStringLiteral("Weights");
    default:
      return {};
  }
}

Qt::ItemFlags SurgeryEdits::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (index.isValid() && index.column() == kScale) flags |= Qt::ItemIsEditable;
  return flags;
}

bool SurgeryEdits::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !index.isValid() || index.column() != kScale) return false;
  bool is_number = false;
  const double scale = value.toDouble(&is_number);
  if (!is_number || !std::isfinite(scale)) return false;
  RouterEdit edit = edits_[static_cast<std::size_t>(index.row())];
  edit.scale = scale;
  Q_EMIT scaleEntered(edit);
  return true;
}

}  // namespace lime::explorer

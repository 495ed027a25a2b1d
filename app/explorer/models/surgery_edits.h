// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <array>
#include <cstdint>
#include <vector>

#include "checkpoint/router_edit.h"
#include "explorer/models/selection.h"

namespace lime::explorer {

/// Which routes around the selection are meant: who reads, and what of whom.
enum class RouteScope {
  kWeight,      ///< a head of a layer, of one buffered head
  kHeadSource,  ///< a head of a layer, of one buffered layer
  kHead,        ///< all that a head of a layer reads
  kLayerSource,
  kLayer,
  kSource,  ///< all that is read of a buffered layer, by whomever
  kSourceHead,
};
inline constexpr std::array kRouteScopes = {
    RouteScope::kWeight, RouteScope::kHeadSource, RouteScope::kHead,      RouteScope::kLayerSource,
    RouteScope::kLayer,  RouteScope::kSource,     RouteScope::kSourceHead};

/// The routes of a scope around a whole selection, with the scale 1.
RouterEdit routesOf(RouteScope scope, const Selection& selection);

/// "what head 1 of layer 5 reads of layer 2".
QString routesText(const RouterEdit& routes, int layer_base);

/// What has been done to the routes of a model: one edit per set of routes. Scales of different
/// sets that share a route multiply, as in the file of --router-edit.
class SurgeryEdits : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRoutes, kScale, kWeights, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  const std::vector<RouterEdit>& edits() const { return edits_; }
  void setEdits(std::vector<RouterEdit> edits);
  /// Of the model whose routes they are: for the number of weights, and for names of layers.
  void setShape(std::int64_t num_layers, std::int64_t num_heads, int layer_base);

  /// Of exactly these routes; 1 where they have no edit.
  double scaleOf(const RouterEdit& routes) const;
  /// `edits` with exactly these routes scaled by `routes.scale`; 1 takes their edit out.
  static std::vector<RouterEdit> with(std::vector<RouterEdit> edits, const RouterEdit& routes);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  /// Somebody typed a scale into the table: the owner makes it a step of undo.
  void scaleEntered(const lime::RouterEdit& edit);

 private:
  std::vector<RouterEdit> edits_;
  std::int64_t num_layers_ = 0;
  std::int64_t num_heads_ = 0;
  int layer_base_ = 0;
};

}  // namespace lime::explorer

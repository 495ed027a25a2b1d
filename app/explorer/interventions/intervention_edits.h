// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "checkpoint/router_layout.h"
#include "core/options.h"
#include "explorer/models/selection.h"
#include "explorer/models/table_model.h"

namespace lime::explorer {

/// Selects routes around the selection: the readers, and the sources.
enum class RouteScope {
  kWeight,      ///< a head of a layer, of one buffered head
  kHeadSource,  ///< a head of a layer, of one buffered layer
  kHead,        ///< a head of a layer, of all sources
  kLayerSource,
  kLayer,
  kSource,  ///< every layer, of one buffered layer
  kSourceHead,
};
constexpr auto names_of(RouteScope) {
  return names_in_order<RouteScope>("weight", "head_source", "head", "layer_source", "layer",
                                    "source", "source_head");
}
inline constexpr int kNumRouteScopes = static_cast<int>(names_of(RouteScope{}).size());

/// Returns the routes of a scope around a whole selection, with the scale 1.
RouterEdit routesOf(RouteScope scope, const Selection& selection);

/// Returns "head 1 of layer 5 from layer 2".
QString routesText(const RouterEdit& routes, int layer_base);

/// The edits of each checkpoint, by its path.
using EditsByCheckpoint = std::map<std::string, std::vector<RouterEdit>>;

/// Serialises edits for sessions: {"/path": [edit, ...]}, each as in the file of --edit.
Json editsToJson(const EditsByCheckpoint& edits);
/// @throws FormatError  if `json` is no such object.
EditsByCheckpoint editsFromJson(const Json& json);

/// Lists the edits of a checkpoint, one per set of routes. Scales of different sets that share a
/// route multiply, as in the file of --edit. Keeps those of other checkpoints, also of closed ones.
class InterventionEdits : public TableModel<RouterEdit> {
  Q_OBJECT

 public:
  enum Column { kRoutes, kScale, kWeights, kColumns };

  InterventionEdits();

  const std::vector<RouterEdit>& edits() const { return rows(); }
  void setEdits(std::vector<RouterEdit> edits);
  /// Lists the edits of another checkpoint. @param path  empty: of none
  void setCheckpoint(const std::string& path);
  const std::string& checkpoint() const { return checkpoint_; }
  /// Returns and sets the edits of all checkpoints that have any.
  EditsByCheckpoint all() const;
  void setAll(EditsByCheckpoint all);
  /// Sets the shape of the model: it gives the number of weights and the names of layers.
  void setShape(std::int64_t num_layers, std::int64_t num_heads, int layer_base);

  /// Returns the scale of exactly these routes; 1 where they have no edit.
  double scaleOf(const RouterEdit& routes) const;
  /// Returns `edits` with exactly these routes scaled by `routes.scale`; 1 removes their edit.
  static std::vector<RouterEdit> with(std::vector<RouterEdit> edits, const RouterEdit& routes);

  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  /// The user typed a scale into the table: the owner makes it a step of undo.
  void scaleEntered(const lime::RouterEdit& edit);

 private:
  std::string checkpoint_;
  EditsByCheckpoint others_;
  std::int64_t num_layers_ = 0;
  std::int64_t num_heads_ = 0;
  int layer_base_ = 0;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <string>

#include "checkpoint/router_layout.h"
#include "core/options.h"
#include "explorer/interventions/scaled_edits.h"
#include "explorer/models/selection.h"

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
  using enum RouteScope;
  return enum_table<RouteScope>({{kWeight, "weight"},
                                 {kHeadSource, "head_source"},
                                 {kHead, "head"},
                                 {kLayerSource, "layer_source"},
                                 {kLayer, "layer"},
                                 {kSource, "source"},
                                 {kSourceHead, "source_head"}});
}
inline constexpr int kNumRouteScopes = static_cast<int>(names_of(RouteScope{}).size());

/// Returns the routes of a scope around a whole selection, with the scale 1.
RouterEdit routesOf(RouteScope scope, const Selection& selection);

/// Returns "head 1 of layer 5 from layer 2".
QString routesText(const RouterEdit& routes, int layer_base);

/// Returns what making this edit does, for undo: "Ablate head 1 of layer 5 from layer 2".
QString actionText(const RouterEdit& routes, int layer_base);

using EditsByCheckpoint = ScaledEdits<RouterEdit>::ByCheckpoint;

/// Serialises edits for sessions: {"/path": [edit, ...]}, each as in the file of --edit.
Json editsToJson(const EditsByCheckpoint& edits);
/// @throws FormatError  if `json` is no such object.
EditsByCheckpoint editsFromJson(const Json& json);

/// Lists the edits of routes of a checkpoint, one per set of routes. Scales of different sets that
/// share a route multiply, as in the file of --edit.
class InterventionEdits : public ScaledEdits<RouterEdit> {
  Q_OBJECT

 public:
  enum Column { kRoutes, kScale, kWeights, kColumns };

  InterventionEdits();

  /// Sets the shape of the model: it gives the number of weights and the names of layers.
  void setShape(std::int64_t num_layers, std::int64_t num_heads, int layer_base);

 Q_SIGNALS:
  /// The user typed a scale into the table: the owner makes it a step of undo.
  void scaleEntered(const lime::RouterEdit& edit);

 protected:
  void enter(const RouterEdit& edit) override { Q_EMIT scaleEntered(edit); }

 private:
  std::int64_t num_layers_ = 0;
  std::int64_t num_heads_ = 0;
  int layer_base_ = 0;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>
#include <QString>
#include <vector>

#include "analysis/router/edited_routers.h"
#include "core/json.h"
#include "explorer/interventions/checkpoint_edits.h"
#include "explorer/interventions/intervention_parts.h"
#include "explorer/interventions/intervention_routes.h"
#include "explorer/models/document.h"
#include "explorer/models/preferences.h"
#include "explorer/widgets/view.h"

class QComboBox;
class QWidget;

namespace lime::explorer {

class InterventionRun;

/// The left side of the Interventions view: the routes of a LIMe, or the parts of any decoder.
class InterventionSides : public QStackedWidget {
  Q_OBJECT

 public:
  explicit InterventionSides(CheckpointEdits& edits);

  /// Returns whether the routers of a document have weights that edits can scale.
  static bool hasRoutes(const Document& document);

  /// Returns the keys of both sides.
  static std::vector<Shortcut> shortcuts();

  InterventionRoutes& routes() { return *routes_; }
  InterventionParts& parts() { return *parts_; }
  /// Returns the box that selects routes or parts of a LIMe, to be placed by the view.
  QComboBox& kind() { return *kind_; }
  bool showsParts() const { return currentWidget() == parts_; }
  /// Returns the part that is selected, in the layer of the selection.
  DecoderPart part() const { return part_; }

  /// What the sides show.
  struct Subject {
    const Document* document = nullptr;  ///< null: none
    const EditedRouters* routers = nullptr;
    const Selection* selection = nullptr;
    const InterventionRun* run = nullptr;  ///< of the sweeps
    QString message = {};                  ///< without a document or routers
  };
  void show(const Subject& subject, const Preferences& preferences);
  /// Selects parts, and this one of them.
  void selectPart(DecoderPart part);
  void selectKind() { wants_parts_ = isPartsSelected(); }
  /// Returns the widget that keys of the side go to.
  QWidget* firstFocus();

  Json state() const;
  void setState(const Json& state);

 private:
  bool isPartsSelected() const;
  void showParts(const Subject& subject, const Preferences& preferences);

  InterventionRoutes* routes_;
  InterventionParts* parts_;
  QComboBox* kind_;
  bool wants_parts_ = false;  ///< of a model with routes
  DecoderPart part_ = DecoderPart::kAttention;
};

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_sides.h"

#include <QComboBox>
#include <QSignalBlocker>

#include "explorer/interventions/intervention_run.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {
namespace {

/// Returns the selection with a layer that has a router, and all else that routes need.
Selection selectedRoute(const Selection& given, const EditedRouters& routers) {
  Selection selection = completed(given, routers.trained());
  // Layer 0 has no router.
  selection.layer = std::max(*selection.layer, 1);
  selection.source_head = selection.source_head.value_or(0);
  return selection;
}

}  // namespace

InterventionSides::InterventionSides(CheckpointEdits& edits)
    : routes_(new InterventionRoutes(edits.routes)),
      parts_(new InterventionParts(edits.parts)),
      kind_(new QComboBox) {
  addWidget(routes_);
  addWidget(parts_);
  kind_->setAccessibleName(u"Edit"_s);
  kind_->setToolTip(u"Routes between the layers of a LIMe, or its attention, MLPs and heads"_s);
  kind_->addItem(u"routes"_s);
  kind_->addItem(u"parts"_s);
}

bool InterventionSides::hasRoutes(const Document& document) {
  if (!document.checkpoint) return false;
  const ModelConfig& config = document.checkpoint->config();
  return config.routing == DepthRouting::kLime && has_static_router(config, 1);
}

std::vector<Shortcut> InterventionSides::shortcuts() {
  return {{u"Previous or next layer or head"_s, u"Up, Down"_s},
          {u"Previous source, next source"_s, u"Left, Right"_s},
          {u"Extend or reduce the selected routes"_s, u"Space, Shift+Space"_s},
          {u"Ablate the selected routes"_s, u"0, Delete"_s},
          {u"Restore or double them"_s, u"1, 2"_s},
          {u"Scale them down, up"_s, u"[, ]"_s},
          {u"Skip, restore or double the selected part"_s, u"0, 1, 2"_s},
          {u"Patch the selected part from the second text"_s, u"P"_s}};
}

bool InterventionSides::isPartsSelected() const { return kind_->currentIndex() == 1; }

void InterventionSides::show(const Subject& subject, const Preferences& preferences) {
  const bool has_routes = subject.document != nullptr && hasRoutes(*subject.document);
  const bool shows_parts = subject.document != nullptr && (!has_routes || wants_parts_);
  kind_->setEnabled(has_routes);
  {
    const QSignalBlocker quiet(kind_);
    kind_->setCurrentIndex(shows_parts ? 1 : 0);
  }
  setCurrentWidget(shows_parts ? static_cast<QWidget*>(parts_) : routes_);
  if (shows_parts) showParts(subject, preferences);
  routes_->setRouters(subject.routers,
                      subject.routers != nullptr
                          ? selectedRoute(*subject.selection, *subject.routers)
                          : Selection(),
                      subject.message, preferences);
}

void InterventionSides::showParts(const Subject& subject, const Preferences& preferences) {
  const ModelConfig& config = subject.document->checkpoint->config();
  parts_->show({.num_layers = static_cast<int>(config.num_hidden_layers),
                .num_heads = static_cast<int>(config.num_attention_heads),
                .sublayers = subject.run->sweep(u"sublayers"_s),
                .heads = subject.run->sweep(u"heads"_s)},
               subject.message, preferences);
  PartEdit part{.part = part_, .layer = subject.selection->layer.value_or(0)};
  if (part_ == DecoderPart::kHead) part.head = subject.selection->head.value_or(0);
  parts_->select(part);
}

void InterventionSides::selectPart(DecoderPart part) {
  part_ = part;
  wants_parts_ = true;
}

QWidget* InterventionSides::firstFocus() {
  return showsParts() ? &parts_->map().plot() : &routes_->layers().plot();
}

Json InterventionSides::state() const {
  return {{"edits_parts", wants_parts_},
          {"part", enum_name(part_)},
          {"scope", enum_name(routes_->scope())}};
}

void InterventionSides::setState(const Json& state) {
  wants_parts_ = state.value("edits_parts", wants_parts_);
  if (const auto part = find_enum<DecoderPart>(state.value("part", std::string()))) part_ = *part;
  const auto scope = find_enum<RouteScope>(state.value("scope", std::string()));
  if (scope) routes_->setScope(*scope);
}

}  // namespace lime::explorer

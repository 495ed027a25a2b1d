// SPDX-License-Identifier: Apache-2.0
// What the Interventions view reads and writes: files, sessions, requests and commands.
#include <QFile>
#include <QSignalBlocker>
#include <QTimer>

#include "core/files/atomic_file.h"
#include "explorer/interventions/intervention_effect.h"
#include "explorer/interventions/intervention_routes.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/interventions/run_bar.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"

namespace lime::explorer {

void InterventionsView::attempt(const std::function<void()>& action) {
  problem_.clear();
  try {
    action();
  } catch (const Error& error) {
    problem_ = toQString(error);
  }
  showAnswers();
}

void InterventionsView::loadEdits(const QString& path) {
  attempt([&] {
    const Document* const selected = document();
    ExplorerEdits edits = readEditsFile(toPath(path));
    if (selected != nullptr) {
      const ModelConfig& config = selected->checkpoint->config();
      check_router_edits(edits.routes, config);
      checkParts(edits.parts, config.num_hidden_layers, config.num_attention_heads);
    }
    setEdits(u"Load edits"_s, std::move(edits.routes), std::move(edits.parts));
    edit_file_ = path;
  });
}

void InterventionsView::saveEdits(const QString& path) {
  attempt([&] {
    throw_if(!hasEdits(), "save edits: there are no edits to save; ablate a route or a part first");
    write_file_atomically(toPath(path), editsFile({edits_.edits(), part_edits_.edits()}));
    edit_file_ = path;
  });
}

void InterventionsView::loadText(const QString& path) {
  attempt([&] {
    const QString text = readText(path);
    recordChange(u"Type a text"_s);
    changeState(u"Load a text"_s, [&] { effect_->editor().setText(text); });
    rememberState();
    file_ = path;
  });
}

void InterventionsView::openText(const QString& path) {
  loadText(path);
  effect_->runBar().setRunsLive(true);
}

std::optional<InterventionRequest> InterventionsView::currentRequest() const {
  const Document* const selected = document();
  const QStringList lines = effect_->lines();
  if (selected == nullptr || lines.isEmpty()) return std::nullopt;
  return InterventionRequest{
      .checkpoint = selected->path,
      .edits = edits_.edits(),
      .parts = part_edits_.edits(),
      .lines = lines,
      .score = effect_->runBar().score(),
      .line = std::min(effect_->editor().cursorLine(), static_cast<int>(lines.size()) - 1),
      .threads = preferences().threads,
      .sweep = sweptOver(effect_->site()),
      .sites = hasRoutes(*selected) ? InterventionRequest().sites : QStringList(u"hidden"_s)};
}

Json InterventionsView::state() const {
  Json state = {{"checkpoint", edits_.checkpoint()},
                {"edits", editsToJson(edits_.all())},
                {"parts", partsToJson(part_edits_.all())},
                {"edits_parts", wants_parts_},
                {"part", enum_name(part_)},
                {"scope", enum_name(routes_->scope())}};
  state.update(effect_->state());
  return state;
}

void InterventionsView::restoreEdits(const Json& state) {
  const auto* const requested = workspace().documentAt(state.value("checkpoint", std::string()));
  if (requested != nullptr && requested != document()) {
    selectData(*checkpoint_, requested->id);
    selectCheckpoint();
  }
  if (state.contains("parts")) part_edits_.setAll(partsFromJson(state.at("parts")));
  if (!state.contains("edits")) return;
  const Json& edits = state.at("edits");
  edits_.setAll(
      editsFromJson(edits.is_array() ? Json::object({{edits_.checkpoint(), edits}}) : edits));
  edit_file_.clear();
}

void InterventionsView::setState(const Json& state) {
  const std::vector<RouterEdit> before = edits_.edits();
  const std::vector<PartEdit> parts_before = part_edits_.edits();
  restoreEdits(state);
  wants_parts_ = state.value("edits_parts", wants_parts_);
  if (const auto part = find_enum<DecoderPart>(state.value("part", std::string()))) part_ = *part;
  const auto scope = find_enum<RouteScope>(state.value("scope", std::string()));
  if (scope) routes_->setScope(*scope);
  effect_->setState(state);
  rememberState();
  runs_when_read_ = state.value("run", false);
  applyEdits();
  showAnswers();
  const bool is_changed = before != edits_.edits() || parts_before != part_edits_.edits();
  if (is_changed && effect_->runBar().runsLive() && currentRequest()) live_->start();
}

QStringList InterventionsView::commandLines() const {
  const Document* const selected = document();
  const std::optional<InterventionRequest> requested = currentRequest();
  if (selected == nullptr || (!hasEdits() && !requested)) return {};
  InterventionCommand command;
  if (requested) command.request = *requested;
  command.request.edits = edits_.edits();
  command.request.parts = part_edits_.edits();
  const auto& shown = run_.request();
  if (requested && shown && shown->lines == requested->lines) command.request.line = shown->line;
  QFile file(file_);
  const bool is_file = !file_.isEmpty() && file.open(QIODevice::ReadOnly) &&
                       QString::fromUtf8(file.readAll()) == effect_->editor().text();
  if (is_file) command.text_file = file_;
  command.edit_file = edit_file_;
  command.site = effect_->site();
  command.figure_options = layerBaseOption();
  command.draws_entropies = panes().active() == &effect_->entropies();
  return interventionCommandLines(command);
}

}  // namespace lime::explorer

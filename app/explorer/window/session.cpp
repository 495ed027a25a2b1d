// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/session.h"

#include <QDir>
#include <QFileInfo>
#include <QMainWindow>
#include <QSettings>

#include "explorer/models/workspace.h"
#include "explorer/window/view_stack.h"

namespace lime::explorer {
namespace {

const QString kPreferences = u"preferences/%1"_s;
const QString kViewStates = u"session/views"_s;
const QString kOpen = u"session/open"_s;
const QString kView = u"session/view"_s;
const QString kTokens = u"session/tokens"_s;
const QString kMoves = u"moved-captures"_s;
const QString kRecent = u"recent"_s;
const QString kGeometry = u"window/geometry"_s;
const QString kState = u"window/state"_s;

/// Passes a stored JSON text to `use`, unless it is of another version.
void restore(const QVariant& stored, const std::function<void(const Json&)>& use) {
  const std::string text = stored.toString().toStdString();
  if (text.empty()) return;
  try {
    use(parse_json(text, "session"));
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

Preferences loadPreferences() {
  const QSettings settings;
  Preferences loaded;
  for (OptionField& field : option_fields(loaded)) {
    const QString key = kPreferences.arg(toQString(field.name));
    if (!settings.contains(key)) continue;
    try {
      field.assign({settings.value(key).toString().toStdString()});
    } catch (const Error&) {
      continue;  // of another version
    }
  }
  try {
    loaded.validate();
    return loaded;
  } catch (const Error&) {
    return {};
  }
}

CaptureLocator::Moves loadMoves() { return QSettings().value(kMoves).toMap(); }

void savePreferences(const Preferences& preferences) {
  QSettings settings;
  const Json json = options_to_json(preferences);
  for (const auto& [name, value] : json.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    settings.setValue(kPreferences.arg(toQString(name)), toQString(text));
  }
}

QString lastFolder() {
  const QStringList recent = QSettings().value(kRecent).toStringList();
  return recent.isEmpty() ? QDir::currentPath() : QFileInfo(recent.front()).absolutePath();
}

void saveSession(const QMainWindow& window, const QString& view, const std::vector<View*>& views,
                 const Workspace& workspace) {
  QSettings settings;
  settings.setValue(kGeometry, window.saveGeometry());
  settings.setValue(kState, window.saveState());
  settings.setValue(kRecent, workspace.recent());
  settings.setValue(kMoves, workspace.locator().moves);
  QStringList paths;
  for (const Document& document : workspace.documents()) paths << toQString(document.path);
  settings.setValue(kOpen, paths);
  settings.setValue(kTokens, toQString(tokensToJson(workspace.selection().tokens).dump()));
  const std::vector<ViewKind>& kinds = allViews();
  settings.setValue(kView, view);
  settings.remove(kViewStates);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    settings.setValue(kViewStates + u'/' + kinds[i].id, toQString(views[i]->state().dump()));
  }
}

QString loadSession(Workspace& workspace, const std::vector<View*>& views) {
  QSettings settings;
  QStringList present;
  for (const QString& path : settings.value(kOpen).toStringList()) {
    // Missing files are skipped without a notice at every start.
    if (QFileInfo::exists(path)) present << path;
  }
  workspace.open(present);
  restore(settings.value(kTokens),
          [&](const Json& tokens) { workspace.selectTokens(tokensFromJson(tokens)); });
  std::map<int, QVariant> states;  // in the order of allViews()
  settings.beginGroup(kViewStates);
  for (const QString& id : settings.childKeys()) states[indexOfView(id)] = settings.value(id);
  settings.endGroup();
  states.erase(-1);
  for (const auto& [index, state] : states) {
    View* const view = views[static_cast<std::size_t>(index)];
    restore(state, [view](const Json& json) { view->setState(json); });
  }
  return settings.value(kView).toString();
}

void loadLayout(QMainWindow& window, Workspace& workspace) {
  const QSettings settings;
  window.restoreGeometry(settings.value(kGeometry).toByteArray());
  window.restoreState(settings.value(kState).toByteArray());
  workspace.setRecent(settings.value(kRecent).toStringList());
}

}  // namespace lime::explorer

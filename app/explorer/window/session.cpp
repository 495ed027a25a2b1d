// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/session.h"

#include <QDir>
#include <QFileInfo>
#include <QMainWindow>
#include <QSettings>

#include "explorer/models/workspace.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer {
namespace {

const QString kPreferences = u"preferences/%1"_s;
const QString kViewStates = u"session/views"_s;
const QString kDocuments = u"session/documents"_s;
const QString kCurrent = u"session/current"_s;
const QString kView = u"session/view"_s;
const QString kTokens = u"session/tokens"_s;
const QString kMoves = u"moved-captures"_s;
const QString kRecent = u"recent"_s;
const QString kGeometry = u"window/geometry"_s;
const QString kState = u"window/state"_s;

/// Returns a stored JSON text; null where there is none.
Json stored(const QSettings& settings, const QString& key) {
  try {
    return parse_json(settings.value(key).toString().toStdString(), "session");
  } catch (const Error&) {
    return {};
  }
}

/// Calls `use`, unless what is stored is of another version.
void attempt(const std::function<void()>& use) {
  try {
    use();
  } catch (const std::exception&) {
    return;
  }
}

std::vector<StoredDocument> documentsOf(const Json& session) {
  std::vector<StoredDocument> documents;
  for (const Json& item : session) {
    attempt([&] {
      documents.push_back({.path = toQString(item.at("path").get<std::string>()),
                           .label = toQString(item.at("label").get<std::string>()),
                           .is_shown = item.at("shown").get<bool>()});
    });
  }
  return documents;
}

/// Restores the state of a view. @return the names of the settings that it did not accept
QStringList unrestored(View& view, const Json& state) {
  attempt([&] { view.setState(state); });
  QStringList names;
  const Json now = view.state();
  for (const auto& [name, value] : state.items()) {
    const auto found = now.find(name);
    if (found == now.end() || *found != value) names << toQString(name).replace(u'_', u' ');
  }
  return names;
}

/// What a session restores once its documents are open.
struct StoredViews {
  std::string current = {};
  Json tokens = {};
  std::map<int, Json> states = {};  ///< in the order of allViews()
};

StoredViews storedViews(QSettings& settings) {
  StoredViews stored_views{.current = settings.value(kCurrent).toString().toStdString(),
                           .tokens = stored(settings, kTokens)};
  settings.beginGroup(kViewStates);
  for (const QString& id : settings.childKeys()) {
    const Json state = stored(settings, id);
    if (indexOfView(id) >= 0 && state.is_object()) stored_views.states[indexOfView(id)] = state;
  }
  settings.endGroup();
  return stored_views;
}

/// @return a line per view that differs from what is stored
QStringList restoreViews(Workspace& workspace, const std::vector<View*>& views,
                         const StoredViews& stored_views) {
  attempt([&] { workspace.selectTokens(tokensFromJson(stored_views.tokens)); });
  const Document* const current = workspace.documentAt(stored_views.current);
  if (current != nullptr) workspace.setCurrent(current->id);
  QStringList problems;
  for (const auto& [index, state] : stored_views.states) {
    View& view = *views[static_cast<std::size_t>(index)];
    const QStringList names = unrestored(view, state);
    if (!names.isEmpty()) problems << u"%1: %2"_s.arg(view.title(), names.join(u", "_s));
  }
  return problems;
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

void saveLayout(const QMainWindow& window, const Workspace& workspace) {
  QSettings settings;
  settings.setValue(kGeometry, window.saveGeometry());
  settings.setValue(kState, window.saveState());
  settings.setValue(kRecent, workspace.recent());
  settings.setValue(kMoves, workspace.locator().moves);
}

void saveSession(const QString& view, const std::vector<View*>& views, const Workspace& workspace) {
  QSettings settings;
  const auto store = [&settings](const QString& key, const Json& json) {
    settings.setValue(key, toQString(dump_json(json)));
  };
  Json documents = Json::array();
  for (const Document& document : workspace.documents()) {
    documents.push_back({{"path", document.path.string()},
                         {"label", document.label.toStdString()},
                         {"shown", document.is_shown}});
  }
  store(kDocuments, documents);
  const Document* const current = workspace.find(workspace.current());
  settings.setValue(kCurrent, current == nullptr ? QString() : toQString(current->path));
  store(kTokens, tokensToJson(workspace.selection().tokens));
  const std::vector<ViewKind>& kinds = allViews();
  settings.setValue(kView, view);
  settings.remove(kViewStates);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    store(kViewStates + u'/' + kinds[i].id, views[i]->state());
  }
}

QString loadSession(Workspace& workspace, const std::vector<View*>& views,
                    const std::function<void(const QStringList& problems)>& restored) {
  QSettings settings;
  workspace.reopen(documentsOf(stored(settings, kDocuments)),
                   [&workspace, views, restored,
                    stored_views = storedViews(settings)](const QStringList& problems) {
                     restored(problems + restoreViews(workspace, views, stored_views));
                   });
  return settings.value(kView).toString();
}

void loadLayout(QMainWindow& window, Workspace& workspace) {
  const QSettings settings;
  window.restoreGeometry(settings.value(kGeometry).toByteArray());
  window.restoreState(settings.value(kState).toByteArray());
  workspace.setRecent(settings.value(kRecent).toStringList());
}

}  // namespace lime::explorer

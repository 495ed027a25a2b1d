// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/session.h"

#include <QDir>
#include <QFileInfo>
#include <QSettings>

#include "explorer/models/text.h"
#include "explorer/views/all_views.h"
#include "explorer/views/main_window.h"

namespace lime::explorer {
namespace {

const QString kPreferences = QStringLiteral("preferences/%1");
const QString kViewState = QStringLiteral("session/views/%1");
const QString kOpen = QStringLiteral("session/open");
const QString kLabels = QStringLiteral("session/labels");
const QString kView = QStringLiteral("session/view");
const QString kTokens = QStringLiteral("session/tokens");
const QString kMoves = QStringLiteral("moved-captures");
const QString kRecent = QStringLiteral("recent");
const QString kGeometry = QStringLiteral("window/geometry");
const QString kState = QStringLiteral("window/state");

}  // namespace

void loadPreferences(Preferences& preferences) {
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
    preferences = loaded;
  } catch (const Error&) {
    preferences = {};
  }
}

CaptureLocator::Moves loadMoves() {
  CaptureLocator::Moves moves;
  const QVariantMap stored = QSettings().value(kMoves).toMap();
  for (auto move = stored.begin(); move != stored.end(); ++move) {
    moves.insert(move.key(), move.value().toString());
  }
  return moves;
}

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

void MainWindow::saveSession() {
  QSettings settings;
  settings.setValue(kGeometry, saveGeometry());
  settings.setValue(kState, saveState());
  settings.setValue(kRecent, workspace_.recent());
  QVariantMap moves;
  const CaptureLocator::Moves& located = workspace_.locator().moves();
  for (auto move = located.begin(); move != located.end(); ++move) {
    moves.insert(move.key(), move.value());
  }
  settings.setValue(kMoves, moves);
  QStringList paths;
  QStringList labels;
  for (const Document& document : workspace_.documents()) {
    paths << toQString(document.path);
    labels << document.label;
  }
  settings.setValue(kOpen, paths);
  settings.setValue(kLabels, labels);
  settings.setValue(kTokens, toQString(tokensToJson(workspace_.selection().tokens).dump()));
  const std::vector<ViewKind>& kinds = allViews();
  if (!kinds.empty()) settings.setValue(kView, kinds[static_cast<std::size_t>(current_view_)].id);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    settings.setValue(kViewState.arg(kinds[i].id), toQString(views_[i]->state().dump()));
  }
}

void MainWindow::restoreTokens(const std::string& stored) {
  if (stored.empty()) return;
  try {
    Selection selection = workspace_.selection();
    selection.tokens = tokensFromJson(parse_json(stored, "session"));
    workspace_.setSelection(selection);
  } catch (const Error&) {
    return;  // of another version
  }
}

void MainWindow::restoreHabits() {
  const QSettings settings;
  restoreGeometry(settings.value(kGeometry).toByteArray());
  restoreState(settings.value(kState).toByteArray());
  workspace_.setRecent(settings.value(kRecent).toStringList());
}

void MainWindow::restoreSession() {
  if (!preferences_.restore_session) return;
  const QSettings settings;
  QStringList present;
  for (const QString& path : settings.value(kOpen).toStringList()) {
    // What is gone was moved on purpose: no reproach at every start.
    if (QFileInfo::exists(path)) present << path;
  }
  workspace_.open(present);
  restoreTokens(settings.value(kTokens).toString().toStdString());
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string text = settings.value(kViewState.arg(kinds[i].id)).toString().toStdString();
    if (text.empty()) continue;
    try {
      views_[i]->setState(parse_json(text, "session"));
    } catch (const std::exception&) {
      continue;  // of another version
    }
  }
  showView(settings.value(kView).toString());
}

}  // namespace lime::explorer

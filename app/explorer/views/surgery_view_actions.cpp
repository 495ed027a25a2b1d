// SPDX-License-Identifier: Apache-2.0
// What route surgery is asked to do: run, load, save, copy.
#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QTimer>
#include <array>

#include "checkpoint/checkpoint.h"
#include "core/atomic_file.h"
#include "core/errors.h"
#include "core/mapped_file.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/session.h"
#include "explorer/views/surgery_effect.h"
#include "explorer/views/surgery_routes.h"
#include "explorer/views/surgery_view.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 20;  // bytes
constexpr int kMostTypedLines = 40;                         // that stand in a command line
const QString kEditFilter = QStringLiteral("Router edits (*.json);;All (*)");

constexpr std::array kScopeNames = {"weight", "head_source", "head",       "layer_source",
                                    "layer",  "source",      "source_head"};

QString line(const char* program, const QStringList& arguments) {
  return QLatin1String(program) + QLatin1Char(' ') + arguments.join(QLatin1Char(' '));
}

}  // namespace

void SurgeryView::addActions() {
  const auto add = [this](const char* text, const QKeySequence& shortcut, const char* tip,
                          bool has_button, auto&& action) {
    QAction* const added = addViewAction(QString::fromUtf8(text), shortcut, QString::fromUtf8(tip));
    added->setData(has_button);
    connect(added, &QAction::triggered, this, action);
  };
  add("Run the text", QKeySequence(Qt::CTRL | Qt::Key_Return),
      "Run the text through the model as trained and edited", false, [this] { run(); });
  add("Reset", QKeySequence(Qt::CTRL | Qt::Key_Backspace), "Take all edits away", true,
      [this] { setEdits(QStringLiteral("Reset the routes"), {}); });
  add("Load edits...", QKeySequence(Qt::CTRL | Qt::Key_L),
      "Read edits from a file, as lime-capture --router-edit does", true, [this] {
        const QString path = QFileDialog::getOpenFileName(this, QStringLiteral("Load edits"),
                                                          lastFolder(), kEditFilter);
        if (!path.isEmpty()) loadEdits(path);
      });
  add("Save edits...", QKeySequence(Qt::CTRL | Qt::Key_S),
      "Write the edits into a file for lime-capture and lime-generate --router-edit", true, [this] {
        const QString path =
            QFileDialog::getSaveFileName(this, QStringLiteral("Save edits"),
                                         QDir(lastFolder()).filePath("edit.json"), kEditFilter);
        if (!path.isEmpty()) saveEdits(path);
      });
  connect(effect_, &SurgeryEffect::fileWanted, this, [this] {
    const QString path = QFileDialog::getOpenFileName(this, QStringLiteral("Text"), lastFolder(),
                                                      QStringLiteral("Text (*.txt);;All (*)"));
    if (!path.isEmpty()) loadText(path);
  });
  add("Line before", QKeySequence(Qt::ALT | Qt::Key_Up), "Read the line before token by token",
      false, [this] { lookAt(run_.question() ? run_.question()->line - 1 : 0); });
  add("Line after", QKeySequence(Qt::ALT | Qt::Key_Down), "Read the line after token by token",
      false, [this] { lookAt(run_.question() ? run_.question()->line + 1 : 0); });
}

void SurgeryView::loadEdits(const QString& path) {
  const Document* const chosen = document();
  try {
    std::vector<RouterEdit> edits = read_router_edits(toPath(path));
    if (chosen != nullptr) check_router_edits(edits, chosen->checkpoint->config());
    setEdits(QStringLiteral("Load edits"), std::move(edits));
    edit_file_ = path;
  } catch (const Error& error) {
    problem_ = toQString(error);
    showAnswers();
  }
}

void SurgeryView::saveEdits(const QString& path) {
  try {
    if (edits_.edits().empty()) {
      throw InvalidArgument(
          "save edits: there must be an edit, got none; switch a route off first");
    }
    write_file_atomically(toPath(path), router_edits_to_json(edits_.edits()).dump(1) + "\n");
    edit_file_ = path;
    problem_.clear();
  } catch (const Error& error) {
    problem_ = toQString(error);
  }
  showAnswers();
}

void SurgeryView::loadText(const QString& path) {
  try {
    const MappedFile file(toPath(path));
    if (file.size() > kLargestText) {
      throw InvalidArgument(
          "'{}': a text in the window must have at most 4 MiB, got {} bytes; use lime-capture "
          "--lines --router-edit",
          path.toStdString(), file.size());
    }
    problem_.clear();
    const QString text = QString::fromUtf8(file.text().data(), static_cast<qsizetype>(file.size()));
    recordChange(QStringLiteral("Type a text"));
    changeState(QStringLiteral("Load a text"), [&] { effect_->setText(text); });
    rememberState();
    file_ = path;
  } catch (const Error& error) {
    problem_ = toQString(error);
  }
  showAnswers();
}

std::optional<SurgeryQuestion> SurgeryView::question() const {
  const Document* const chosen = document();
  const QStringList lines = effect_->lines();
  if (chosen == nullptr || lines.isEmpty()) return std::nullopt;
  return SurgeryQuestion{
      .checkpoint = chosen->path,
      .edits = edits_.edits(),
      .lines = lines,
      .line = std::min(effect_->cursorLine(), static_cast<int>(lines.size()) - 1),
      .threads = preferences().threads};
}

void SurgeryView::run() {
  recordChange(QStringLiteral("Type a text"));
  std::optional<SurgeryQuestion> asked = question();
  problem_.clear();
  if (!asked) {
    if (document() != nullptr) problem_ = QStringLiteral("Type a text, or choose a file, first.");
    showAnswers();
    return;
  }
  // Of the same text the line that is being read stays.
  const std::optional<SurgeryQuestion>& before = run_.question();
  if (before && before->lines == asked->lines) asked->line = before->line;
  run_.start(*asked);
}

void SurgeryView::lookAt(int line) { run_.lookAt(line); }

std::vector<Habit> SurgeryView::habits() const {
  return {{QStringLiteral("Layer or head before, after"), QStringLiteral("Up, Down")},
          {QStringLiteral("What is read, before, after"), QStringLiteral("Left, Right")},
          {QStringLiteral("More or fewer routes around the cell"),
           QStringLiteral("Space, Shift+Space")},
          {QStringLiteral("Switch the chosen routes off"), QStringLiteral("0, Delete")},
          {QStringLiteral("Leave them as trained, double them"), QStringLiteral("1, 2")},
          {QStringLiteral("Scale them down, up"), QStringLiteral("[, ]")}};
}

const Json& SurgeryView::editsJson() const {
  if (json_.is_null() || json_of_ != edits_.edits()) {
    json_of_ = edits_.edits();
    json_ = router_edits_to_json(json_of_).at("edits");
  }
  return json_;
}

Json SurgeryView::state() const {
  Json state = {{"edits", editsJson()},
                {"scope", kScopeNames[static_cast<std::size_t>(routes_->scope())]},
                {"text", effect_->text().toStdString()},
                {"lines", effect_->maxLines()},
                {"site", effect_->site().toStdString()},
                {"live", effect_->runsLive()}};
  return state;
}

void SurgeryView::setState(const Json& state) {
  const std::vector<RouterEdit> before = edits_.edits();
  if (state.contains("edits")) {
    const Json& list = state.at("edits");
    edits_.setEdits(
        list.empty()
            ? std::vector<RouterEdit>()
            : parse_router_edits({{"format", "lime-router-edit/1"}, {"edits", list}}, "session"));
    edit_file_.clear();
  }
  const std::string scope = state.value("scope", std::string());
  for (std::size_t i = 0; i < kScopeNames.size(); ++i) {
    if (scope == kScopeNames[i]) routes_->setScope(static_cast<RouteScope>(i));
  }
  effect_->setText(toQString(state.value("text", effect_->text().toStdString())));
  effect_->setMaxLines(state.value("lines", effect_->maxLines()));
  effect_->setSite(toQString(state.value("site", std::string())));
  effect_->setRunsLive(state.value("live", effect_->runsLive()));
  rememberState();
  runs_when_read_ = state.value("run", false);
  applyEdits();
  showAnswers();
  if (before != edits_.edits() && effect_->runsLive() && question()) live_->start();
}

/// How the commands name the text. @param before  gets the lines that make the file first
QStringList SurgeryView::textLines(QStringList* before) const {
  QFile file(file_);
  const bool is_file = !file_.isEmpty() && file.open(QIODevice::ReadOnly) &&
                       QString::fromUtf8(file.readAll()) == effect_->text();
  const QStringList lines = effect_->lines();
  if (is_file) {
    return {QStringLiteral("--lines"), quotedForShell(file_), QStringLiteral("--max-sequences"),
            QString::number(lines.size())};
  }
  if (lines.size() > kMostTypedLines) {
    *before << QStringLiteral("# save the window's text as text.txt");
  } else {
    QStringList words;
    for (const QString& text : lines) words << quotedForShell(text);
    *before << QStringLiteral("printf '%s\\n' ") + words.join(QLatin1Char(' ')) +
                   QStringLiteral(" > text.txt");
  }
  return {QStringLiteral("--lines"), QStringLiteral("text.txt")};
}

QStringList SurgeryView::commandLines() const {
  const Document* const chosen = document();
  const std::optional<SurgeryQuestion> asked = question();
  if (chosen == nullptr || (edits_.edits().empty() && !asked)) return {};
  QStringList commands;
  QStringList edit;
  if (!edits_.edits().empty()) {
    const QString path = edit_file_.isEmpty() ? QStringLiteral("edit.json") : edit_file_;
    if (edit_file_.isEmpty()) {
      commands << QStringLiteral("printf '%s\\n' %1 > edit.json")
                      .arg(quotedForShell(toQString(router_edits_to_json(edits_.edits()).dump())));
    }
    edit = {QStringLiteral("--router-edit"), quotedForShell(path)};
  }
  if (!asked) return commands;
  const QStringList model = {QStringLiteral("--checkpoint"),
                             quotedForShell(toQString(chosen->path))};
  const QStringList text = textLines(&commands);
  const int number = run_.question() && run_.question()->lines == asked->lines
                         ? run_.question()->line
                         : asked->line;
  const QStringList next = {QStringLiteral("--prompt=") + quotedForShell(asked->lines[number]),
                            QStringLiteral("--next-tokens 40 --each-token")};
  const QStringList capture = {
      QStringLiteral("--sites values,routed_values,hidden --log-likelihood")};
  const auto output = [](const char* name) { return QStringLiteral("-o ") + QLatin1String(name); };
  commands << line("lime-generate", model + next + QStringList{"> before.json"});
  commands << line("lime-generate", model + next + edit + QStringList{"> after.json"});
  commands << line("lime-capture", model + text + capture + QStringList{output("before.h5")});
  commands << line("lime-capture", model + text + capture + edit + QStringList{output("after.h5")});
  commands << QStringLiteral(
      "lime-metrics entropy before.h5 after.h5 --label 'as trained' edited -o entropy.json");
  commands << QStringLiteral("lime-figure entropy.json --kind entropy --site %1%2 -o entropy.pdf")
                  .arg(effect_->site(), preferences().layer_base != 0
                                            ? QStringLiteral(" --layer-base 1")
                                            : QString());
  return commands;
}

}  // namespace lime::explorer

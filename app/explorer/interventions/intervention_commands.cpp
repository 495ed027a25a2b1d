// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_commands.h"

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

constexpr int kMostTypedLines = 40;  // in a command line

QString line(const char* program, const QStringList& arguments) {
  return QLatin1String(program) + QLatin1Char(' ') + arguments.join(QLatin1Char(' '));
}

/// Returns the option of the text; appends the commands that write its file.
QStringList textOption(const InterventionCommand& command, QStringList& commands) {
  const QStringList& lines = command.request.lines;
  if (!command.text_file.isEmpty()) {
    return {QStringLiteral("--lines"), quotedForShell(command.text_file),
            QStringLiteral("--max-sequences"), QString::number(lines.size())};
  }
  if (lines.size() > kMostTypedLines) {
    commands << QStringLiteral("# save the text as text.txt");
  } else {
    QStringList words;
    for (const QString& text : lines) words << quotedForShell(text);
    commands << QStringLiteral("printf '%s\\n' ") + words.join(QLatin1Char(' ')) +
                    QStringLiteral(" > text.txt");
  }
  return {QStringLiteral("--lines"), QStringLiteral("text.txt")};
}

/// Returns the option of the edits, likewise.
QStringList editOption(const InterventionCommand& command, QStringList& commands) {
  const std::vector<RouterEdit>& edits = command.request.edits;
  if (edits.empty()) return {};
  const bool is_file = !command.edit_file.isEmpty();
  if (!is_file) {
    commands << QStringLiteral("printf '%s\\n' %1 > edit.json")
                    .arg(quotedForShell(toQString(router_edits_to_json(edits).dump())));
  }
  return {QStringLiteral("--router-edit"),
          quotedForShell(is_file ? command.edit_file : QStringLiteral("edit.json"))};
}

}  // namespace

QStringList interventionCommandLines(const InterventionCommand& command) {
  const InterventionRequest& request = command.request;
  QStringList commands;
  const QStringList edit = editOption(command, commands);
  if (request.lines.isEmpty()) return commands;
  const QStringList model = {QStringLiteral("--checkpoint"),
                             quotedForShell(toQString(request.checkpoint))};
  const QStringList text = textOption(command, commands);
  const QStringList next = {
      QStringLiteral("--prompt=") + quotedForShell(request.lines[request.line]),
      QStringLiteral("--next-tokens 40 --each-token")};
  const QStringList capture = {
      QStringLiteral("--sites values,routed_values,hidden --log-likelihood")};
  const auto output = [](const char* name) { return QStringLiteral("-o ") + QLatin1String(name); };
  commands << line("lime-generate", model + next + QStringList{"> original.json"})
           << line("lime-generate", model + next + edit + QStringList{"> edited.json"})
           << line("lime-capture", model + text + capture + QStringList{output("original.h5")})
           << line("lime-capture", model + text + capture + edit + QStringList{output("edited.h5")})
           << QStringLiteral(
                  "lime-metrics entropy original.h5 edited.h5 --label original edited -o "
                  "entropy.json")
           << QStringLiteral("lime-figure entropy.json --kind entropy --site %1%2 -o entropy.pdf")
                  .arg(command.site, command.figure_options);
  return commands;
}

}  // namespace lime::explorer

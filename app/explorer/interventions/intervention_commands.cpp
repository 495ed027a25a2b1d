// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_commands.h"

namespace lime::explorer {
namespace {

constexpr int kMaxTypedLines = 40;  // in a command line

/// Returns the command that writes `lines` into a file.
QString writeLine(const QStringList& lines, const QString& file) {
  return shellLine(QStringList{"printf", "%s\\n"} + lines) + u" > "_s + file;
}

const QString kLinePatchFile = u"second-line.h5"_s;

/// Returns the commands that capture what patches read of the second text, and of the line that is
/// read token by token.
QStringList secondTextCommands(const InterventionRequest& request, const QStringList& model) {
  const QStringList capture =
      QStringList{"lime-capture"} + model + patchedSites(request.edits) + QStringList{"--lines"};
  QStringList commands = {request.second.size() > kMaxTypedLines
                              ? u"# save the second text as second.txt"_s
                              : writeLine(request.second, u"second.txt"_s),
                          shellLine(capture + QStringList{"second.txt", "-o", kPatchFile})};
  if (request.lines.size() > 1) {
    commands << writeLine(request.second.mid(request.line, 1), u"second-line.txt"_s)
             << shellLine(capture + QStringList{"second-line.txt", "-o", kLinePatchFile});
  }
  return commands;
}

}  // namespace

QStringList interventionCommandLines(const InterventionCommand& command) {
  const InterventionRequest& request = command.request;
  const QStringList& lines = request.lines;
  QStringList commands, edit, text = {"--lines", "text.txt"};
  const DecoderEdits& edits = request.edits;
  // A file of edits names one capture, but a line is patched from one of its own.
  const bool is_saved = !command.edit_file.isEmpty() && !edits.patches();
  const bool writes_edits = !edits.routes.empty() && !is_saved;
  if (!edits.isEmpty()) edit << "--edit";
  if (is_saved && !edits.isEmpty()) {
    edit << command.edit_file;
  } else {
    if (writes_edits) {
      edit << "edit.json";
      commands << writeLine({toQString(router_edits_to_json(edits.routes).dump())}, edit[1]);
    }
    edit += editTexts({.parts = edits.parts});
  }
  if (lines.isEmpty()) return commands;
  if (!command.text_file.isEmpty()) {
    text = {"--lines", command.text_file, "--max-sequences", QString::number(lines.size())};
  } else {
    commands << (lines.size() > kMaxTypedLines ? u"# save the text as text.txt"_s
                                               : writeLine(lines, text[1]));
  }
  const QStringList model = {"--checkpoint", toQString(request.checkpoint)};
  const QString over = sweptOver(command.site);
  if (command.draws_entropies && !over.isEmpty()) {
    if (writes_edits) commands.removeFirst();
    const QStringList draw = {"lime-figure", "sweep.json", "--kind", "sweep"};
    return commands << shellLine(QStringList{"lime-capture"} + sweepCommand(over, lines.size()) +
                                 model + text + request.score + QStringList{"-o", "sweep.json"})
                    << shellLine(draw + command.figure_options + QStringList{"-o", "sweep.pdf"});
  }
  const bool has_line = edits.patches() && lines.size() > 1;
  if (edits.patches()) commands += secondTextCommands(request, model);
  // With "=", or a line that begins with a minus would be taken for an option.
  const QString read = shellLine(QStringList{"lime-generate"} + model) + u" --prompt="_s +
                       quotedForShell(lines[request.line]) +
                       u" --next-tokens 40 --each-token --continuation --max-new-tokens 40"_s;
  const QStringList capture = QStringList{"lime-capture"} + model + text +
                              QStringList{"--sites", request.sites.join(u','), "--log-likelihood"} +
                              request.score;
  QString with_edit = edit.isEmpty() ? QString() : u' ' + shellLine(edit);
  if (has_line) with_edit.replace(kPatchFile, kLinePatchFile);
  commands
      << read + u" > original.json"_s << read + with_edit + u" > edited.json"_s
      << shellLine(capture + QStringList{"-o", "original.h5"})
      << shellLine(capture + edit + QStringList{"-o", "edited.h5"})
      << u"lime-metrics entropy original.h5 edited.h5 --label original edited -o entropy.json"_s;
  if (!command.draws_entropies) return commands;
  const QStringList draw = {"lime-figure", "entropy.json", "--kind",
                            "entropy",     "--site",       command.site};
  return commands << shellLine(draw + command.figure_options + QStringList{"-o", "entropy.pdf"});
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/attention_commands.h"

#include "explorer/models/text.h"

namespace lime::explorer {

QStringList attentionCommandLines(const AttentionCommand& command) {
  QStringList measure{"lime-metrics", "attention", toQString(command.capture)};
  const auto add = [&](const char* option, std::int64_t value) {
    measure << QLatin1String(option) << QString::number(value);
  };
  measure << "--label" << command.label;
  add("--layer", command.layer);
  if (command.head >= 0) add("--head", command.head);
  add("--sequence", command.sequence);
  if (command.query) add("--query", *command.query);
  if (!command.checkpoint.empty()) measure << "--checkpoint" << toQString(command.checkpoint);
  QStringList lines = {shellLine(measure << QStringList{"-o", "attention.json"})};
  for (const char* const kind : {"attention", "attention-routed"}) {
    const bool is_routed = QLatin1String(kind) == "attention-routed"_L1;
    if (is_routed && !command.query) continue;
    QStringList draw{"lime-figure", "attention.json"};
    if (is_routed) draw << "--kind" << kind;
    if (command.layer_base != 0) draw << QStringList{"--layer-base", "1"};
    lines << shellLine(draw << "-o" << QLatin1String(kind) + u".pdf"_s);
  }
  return lines;
}

}  // namespace lime::explorer

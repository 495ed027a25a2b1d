// SPDX-License-Identifier: Apache-2.0
#include "explorer/collapse/extremes_model.h"

namespace lime::explorer {

ExtremesModel::ExtremesModel()
    : TableModel({
          {.title = QStringLiteral("Capture"),
           .text = [](const ExtremeSequence& row) { return row.label; }},
          {.title = QStringLiteral("Extreme"),
           .text =
               [](const ExtremeSequence& row) {
                 return row.is_lowest ? QStringLiteral("lowest") : QStringLiteral("highest");
               }},
          {.title = QStringLiteral("Entropy"),
           .text = [](const ExtremeSequence& row) { return QString::number(row.entropy, 'f', 3); },
           .is_number = true,
           .further = [](const ExtremeSequence& row, int role) -> QVariant {
             if (role != Qt::ToolTipRole) return {};
             return QStringLiteral("of at most %1 nats").arg(row.ceiling, 0, 'f', 3);
           }},
          {.title = QStringLiteral("Sequence"),
           .text = [](const ExtremeSequence& row) { return QString::number(row.sequence); },
           .is_number = true},
          {.title = QStringLiteral("Text"),
           .text =
               [](const ExtremeSequence& row) {
                 return QString(row.text).replace(QLatin1Char('\n'), QLatin1Char(' '));
               },
           .further =
               [](const ExtremeSequence& row, int role) {
                 return role == Qt::ToolTipRole ? QVariant(row.text) : QVariant();
               }},
      }) {}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/sentences_model.h"

#include <utility>

#include "explorer/models/text.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr qsizetype kShownCharacters = 300;
constexpr qsizetype kToolTipCharacters = 1000;

}  // namespace

SentencesModel::SentencesModel() {
  const auto number = [](const SequenceRow& row) { return row.number; };
  const auto tokens = [](const SequenceRow& row) { return static_cast<qlonglong>(row.num_tokens); };
  // Numbers are sorted as such.
  const auto with = [this](const std::function<QVariant(const SequenceRow&)>& sorted) {
    return [this, sorted](const SequenceRow& row, int role) -> QVariant {
      if (role == Qt::UserRole) return sorted(row);
      return role == Qt::ToolTipRole ? QVariant(textOf(row).left(kToolTipCharacters)) : QVariant();
    };
  };
  setTable(
      {{.title = QStringLiteral("No."), .text = number, .is_number = true, .further = with(number)},
       {.title = QStringLiteral("Tokens"),
        .text = tokens,
        .is_number = true,
        .further = with(tokens)},
       {.title = QStringLiteral("Sequence"),
        .text = [this](const SequenceRow& row) { return textOf(row).left(kShownCharacters); },
        .further = with([this](const SequenceRow& row) { return textOf(row); })}},
      {});
}

void SentencesModel::setCapture(std::shared_ptr<const CaptureReader> capture) {
  if (capture == capture_) return;
  std::vector<SequenceRow> rows;
  for (std::int64_t i = 0; capture && i < capture->num_sequences(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    rows.push_back({static_cast<int>(i), capture->offsets()[at + 1] - capture->offsets()[at]});
  }
  capture_ = std::move(capture);
  setRows(std::move(rows));
}

QString SentencesModel::textOf(const SequenceRow& row) const {
  return toQString(capture_->sequences()[static_cast<std::size_t>(row.number)].text)
      .replace(QLatin1Char('\n'), QLatin1Char(' '));
}

}  // namespace lime::explorer

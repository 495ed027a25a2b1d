// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/sentences_model.h"

#include <QVariant>
#include <functional>
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
  const auto text = [this](const SequenceRow& row) { return textOf(row).left(kShownCharacters); };
  const auto tool_tip = [this](const SequenceRow& row) {
    return textOf(row).left(kToolTipCharacters);
  };
  // Numbers are sorted as such.
  const auto by = [](const std::function<QVariant(const SequenceRow&)>& sorted) {
    return [sorted](const SequenceRow& row, int role) {
      return role == Qt::UserRole ? sorted(row) : QVariant();
    };
  };
  setTable({{u"No."_s, number, true, {}, tool_tip, by(number)},
            {u"Tokens"_s, tokens, true, {}, tool_tip, by(tokens)},
            {u"Sequence"_s, text, false, {}, tool_tip, by([this](const SequenceRow& row) {
               return textOf(row);
             })}},
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
  sequences_ = nullptr;
  setRows(std::move(rows));
}

void SentencesModel::showTexts(const std::vector<Sequence>& sequences) {
  sequences_ = &sequences;
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, kText), index(rowCount() - 1, kText));
}

QString SentencesModel::textOf(const SequenceRow& row) const {
  if (sequences_ == nullptr) return {};
  return toQString((*sequences_)[static_cast<std::size_t>(row.number)].text).replace(u'\n', u' ');
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/judgements_model.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

QString percent(double share) { return QStringLiteral("%1 %").arg(100.0 * share, 0, 'f', 1); }

QString classText(const ProbeDetail& detail, int number) {
  return toQString(printable(detail.classes[static_cast<std::size_t>(number)]));
}

QString tick(bool is_right) {
  return is_right ? QStringLiteral("\u2713 ") : QStringLiteral("\u2717 ");
}

}  // namespace

void JudgementsModel::setDetail(std::shared_ptr<const ProbeDetail> detail) {
  beginResetModel();
  detail_ = std::move(detail);
  sentences_.clear();
  endResetModel();
}

bool JudgementsModel::isOfPairs() const {
  return detail_ && detail_->question == ProbeQuestion::kBlimp;
}

int JudgementsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !detail_ ? 0 : static_cast<int>(detail_->judgements.size());
}

int JudgementsModel::columnCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  return isOfPairs() ? kColumns : kSentence + 1;
}

QString JudgementsModel::textOf(std::int64_t capture_row) const {
  const CaptureReader& capture = detail_->sentences->capture();
  const auto sequence = capture.rows().sequence[static_cast<std::size_t>(capture_row)];
  return toQString(capture.sequences()[static_cast<std::size_t>(sequence)].text)
      .replace(QLatin1Char('\n'), QLatin1Char(' '));
}

QString JudgementsModel::text(int row) const {
  const QString own = textOf(at(row).row);
  return isOfPairs() ? own + QLatin1Char('\n') + textOf(at(row).bad_row) : own;
}

TokenInSentence JudgementsModel::sentenceOf(int row) const {
  const auto known = sentences_.find(row);
  if (known != sentences_.end()) return known->second;
  const RowTable& rows = detail_->sentences->capture().rows();
  const auto place = static_cast<std::size_t>(at(row).row);
  return sentences_[row] =
             detail_->sentences->at(rows.sequence[place], rows.position[place], rows.token[place]);
}

QVariant JudgementsModel::shown(const QModelIndex& index) const {
  const ProbeJudgement& one = at(index.row());
  if (isOfPairs()) {
    switch (index.column()) {
      case kFirst:
        return toQString(detail_->tasks[static_cast<std::size_t>(one.task)]);
      case kSecond:
        return tick(one.good_right) + percent(one.truth_probability);
      case kThird:
        return tick(one.bad_right) + percent(one.predicted_probability);
      case kSentence:
        return textOf(one.row);
      default:
        return textOf(one.bad_row);
    }
  }
  switch (index.column()) {
    case kFirst:
      return classText(*detail_, one.truth);
    case kSecond:
      return tick(one.isRight()) + classText(*detail_, one.predicted);
    case kThird:
      return percent(one.truth_probability);
    default: {
      const TokenInSentence sentence = sentenceOf(index.row());
      return sentence.before + sentence.token + sentence.after;
    }
  }
}

QVariant JudgementsModel::sorted(const QModelIndex& index) const {
  const ProbeJudgement& one = at(index.row());
  switch (index.column()) {
    case kFirst:
      return isOfPairs() ? QVariant(one.task) : QVariant(one.truth);
    case kSecond:
      return isOfPairs() ? QVariant(one.truth_probability) : QVariant(one.predicted);
    case kThird:
      return isOfPairs() ? one.predicted_probability : one.truth_probability;
    case kSentence:
      return static_cast<qlonglong>(one.row);
    default:
      return static_cast<qlonglong>(one.bad_row);
  }
}

QString JudgementsModel::toolTip(const QModelIndex& index) const {
  const ProbeJudgement& one = at(index.row());
  if (isOfPairs()) {
    return QStringLiteral(
               "%1, pair %2\ngood: %3\n  taken for good with %4\nbad: %5\n  taken for "
               "good with %6")
        .arg(toQString(detail_->tasks[static_cast<std::size_t>(one.task)]))
        .arg(one.pair)
        .arg(textOf(one.row), percent(one.truth_probability), textOf(one.bad_row),
             percent(one.predicted_probability));
  }
  const RowTable& rows = detail_->sentences->capture().rows();
  const auto place = static_cast<std::size_t>(one.row);
  return QStringLiteral("%1, taken for %2 with %3 (%1: %4)\nsequence %5, position %6\n%7")
      .arg(classText(*detail_, one.truth), classText(*detail_, one.predicted),
           percent(one.predicted_probability), percent(one.truth_probability))
      .arg(rows.sequence[place])
      .arg(rows.position[place])
      .arg(textOf(one.row).left(600));
}

QVariant JudgementsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const bool is_sentence = !isOfPairs() && index.column() == kSentence;
  switch (role) {
    case Qt::DisplayRole:
      return shown(index);
    case Qt::ToolTipRole:
      return toolTip(index);
    case kSort:
      return sorted(index);
    case kIsRight:
      return at(index.row()).isRight();
    case kBefore:
      return is_sentence ? sentenceOf(index.row()).before : QString();
    case kHere:
      return is_sentence ? sentenceOf(index.row()).token : QString();
    case kAfter:
      return is_sentence ? sentenceOf(index.row()).after : QString();
    default:
      return {};
  }
}

QVariant JudgementsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const std::array<const char*, kColumns> kTokens = {"True", "Predicted", "p(true)",
                                                            "Sentence", ""};
  static const std::array<const char*, kColumns> kPairs = {"Task", "p(good)", "p(bad)",
                                                           "Good sentence", "Bad sentence"};
  static const std::array<const char*, kColumns> kTokenHelp = {
      "The class of the token", "The class with the largest probability",
      "Probability of the true class, by the fold that did not train on the token",
      "The token in its sentence", ""};
  static const std::array<const char*, kColumns> kPairHelp = {
      "Paradigm of BLiMP (UID)", "Probability that the good sentence is good: right above 50 %",
      "Probability that the bad sentence is good: right below 50 %", "The acceptable sentence",
      "The unacceptable sentence"};
  const auto at = static_cast<std::size_t>(section);
  if (at >= kTokens.size()) return {};
  if (role == Qt::DisplayRole)
    return toQString(std::string_view((isOfPairs() ? kPairs : kTokens)[at]));
  if (role == Qt::ToolTipRole) {
    return toQString(std::string_view((isOfPairs() ? kPairHelp : kTokenHelp)[at]));
  }
  return {};
}

}  // namespace lime::explorer

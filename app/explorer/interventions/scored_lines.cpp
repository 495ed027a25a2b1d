// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/scored_lines.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lime::explorer {
namespace {

QString lossText(double log_likelihood, const LineScore& line) {
  return QString::number(-log_likelihood / static_cast<double>(line.tokens), 'f', 3);
}

}  // namespace

QString withSign(double value, int digits) {
  const QString number = QString::number(value, 'f', digits);
  return value > 0.0 ? u'+' + number : number;
}

ScoredLines::ScoredLines() {
  using One = const LineScore&;
  const QString help = u"Loss of the line: minus its log-likelihood per token, nats"_s;
  setTable({{u"Line"_s, [](One line) { return QString::number(line.line + 1); }, true},
            {u"Original"_s, [](One line) { return lossText(line.before, line); }, true, help},
            {u"Edited"_s, [](One line) { return lossText(line.after, line); }, true, help},
            {u"Change"_s, [](One line) { return withSign(line.change(), 3); }, true, help},
            {.title = u"Text"_s,
             .text = [](One line) { return line.text; },
             .tool_tip = [](One line) { return line.text; }}},
           {});
}

void ScoredLines::setScores(std::vector<LineScore> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const LineScore& a, const LineScore& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  setRows(std::move(lines));
}

int ScoredLines::rowOfLine(int line) const {
  const auto found =
      std::find_if(rows().begin(), rows().end(),
                   [line](const LineScore& line_score) { return line_score.line == line; });
  return found == rows().end() ? -1 : static_cast<int>(found - rows().begin());
}

}  // namespace lime::explorer

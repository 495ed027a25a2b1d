// SPDX-License-Identifier: Apache-2.0
#include "viz/axis_ticker.h"

#include <cmath>

namespace lime {
namespace {

constexpr double kLargest = 99'999.0;  // that is written out
constexpr int kMostDecimals = 4;

}  // namespace

EvenTicker::EvenTicker() { setTickCount(5); }

double EvenTicker::getTickStep(const QCPRange& range) {
  step_ = QCPAxisTicker::getTickStep(range);
  return step_;
}

QString EvenTicker::getTickLabel(double tick, const QLocale& locale, QChar format, int precision) {
  int decimals = 0;
  for (double scaled = step_;
       decimals <= kMostDecimals && std::abs(scaled - std::round(scaled)) > 1e-6 * scaled;
       scaled *= 10.0) {
    ++decimals;
  }
  if (decimals > kMostDecimals || std::abs(tick) > kLargest) {
    return QCPAxisTicker::getTickLabel(tick, locale, format, precision);
  }
  const double shown = std::abs(tick) < 1e-9 * step_ ? 0.0 : tick;
  const QString text = QString::number(std::abs(shown), 'f', decimals);
  return shown < 0.0 ? QChar(0x2212) + text : text;
}

}  // namespace lime

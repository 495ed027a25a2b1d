// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/axis_ticker.h"

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

constexpr double kLargest = 99'999.0;  // largest number in decimal notation
constexpr int kMostDecimals = 4;
constexpr double kSmallest = 1e-3;      // on a logarithmic axis
constexpr double kEvenDecades = 0.5;    // up to here evenly spaced ticks are clearer
constexpr double kFineDecades = 3.0;    // up to here ticks include 2 and 5
constexpr double kCoarseDecades = 1.5;  // the same for numbers not in decimal notation
constexpr double kMostPowers = 7.0;

bool is_written_out(double value) { return value >= kSmallest && value <= kLargest; }

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

QVector<double> LogTicker::createTickVector(double step, const QCPRange& range) {
  const double decades = range.lower > 0.0 ? std::log10(range.upper / range.lower) : 0.0;
  is_even_ = decades < kEvenDecades;
  if (is_even_) return EvenTicker::createTickVector(step, range);
  is_plain_ = is_written_out(range.lower) && is_written_out(range.upper);
  const bool is_fine = decades <= (is_plain_ ? kFineDecades : kCoarseDecades);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / kMostPowers)));
  const int first = static_cast<int>(std::floor(std::log10(range.lower)));
  const int last = static_cast<int>(std::ceil(std::log10(range.upper)));
  QVector<double> ticks;
  for (int power = first; power <= last; ++power) {
    if (power % stride != 0) continue;
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit == 1.0 || is_fine) ticks.push_back(digit * std::pow(10.0, power));
    }
  }
  return ticks;
}

QString LogTicker::getTickLabel(double tick, const QLocale& locale, QChar format, int precision) {
  if (is_even_) return EvenTicker::getTickLabel(tick, locale, format, precision);
  if (is_plain_) return QString::number(tick, 'g', 5);
  return QCPAxisTicker::getTickLabel(tick, locale, format, precision);
}

}  // namespace lime

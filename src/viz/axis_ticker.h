// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

namespace lime {

/// Ticks at round numbers, all labelled with as many decimals as their step needs: 2.50
/// beside 2.75. Large and tiny numbers keep the axis' own format.
class EvenTicker : public QCPAxisTicker {
 public:
  EvenTicker();

 protected:
  double getTickStep(const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  double step_ = 1.0;
};

/// Ticks of a logarithmic axis: even ones where it spans less than half a decade, 1, 2, 5, 10, ...
/// up to three decades, powers of ten beyond. Ranges within 0.001 to 99,999 are written out; others
/// keep the axis' own format, 10 to a power.
class LogTicker : public EvenTicker {
 protected:
  QVector<double> createTickVector(double step, const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  bool is_even_ = false;
  bool is_plain_ = true;
};

}  // namespace lime

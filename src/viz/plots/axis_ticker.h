// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

namespace lime {

/// Places ticks at round numbers and labels all of them with the decimals that the step needs: 2.50
/// next to 2.75. Large and tiny numbers keep the axis' own format.
class EvenTicker : public QCPAxisTicker {
 public:
  EvenTicker();

 protected:
  double getTickStep(const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  double step_ = 1.0;
};

/// Ticks of a logarithmic axis: evenly spaced if it spans less than half a decade; 1, 2, 5, 10, ...
/// up to three decades; powers of ten beyond. Ranges within 0.001 to 99,999 use decimal notation;
/// others keep the axis' own format, powers of 10.
class LogTicker : public EvenTicker {
 protected:
  QVector<double> createTickVector(double step, const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  bool is_even_ = false;
  bool is_plain_ = true;
};

}  // namespace lime

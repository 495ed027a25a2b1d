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

}  // namespace lime

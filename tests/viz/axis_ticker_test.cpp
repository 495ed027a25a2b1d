// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "viz/plots/panel_axes.h"

namespace lime {
namespace {

/// Returns the labels of the ticks between `low` and `high`, joined by spaces; powers as "1e+06".
std::string labels_of(QCPAxisTicker& ticker, double low, double high) {
  QVector<double> ticks;
  QVector<QString> labels;
  ticker.generate({low, high}, QLocale::c(), 'e', 0, ticks, nullptr, &labels);
  QString all;
  for (qsizetype i = 0; i < ticks.size(); ++i) {
    if (ticks[i] < low || ticks[i] > high) continue;
    all += (all.isEmpty() ? "" : " ") + labels[i];
  }
  return all.toStdString();
}

TEST(AxisTickerTest, EvenTicksHaveEqualDecimals) {
  EvenTicker ticker;
  EXPECT_EQ(labels_of(ticker, 2.25, 3.1), "2.4 2.6 2.8 3.0");
  EXPECT_EQ(labels_of(ticker, -1.0, 1.0),
            "\xE2\x88\x92"
            "1.0 \xE2\x88\x92"
            "0.5 0.0 0.5 1.0");
}

TEST(AxisTickerTest, LessThanHalfADecadeIsNumberedEvenly) {
  LogTicker ticker;
  EXPECT_EQ(labels_of(ticker, 2.0, 3.1), "2.0 2.2 2.4 2.6 2.8 3.0");
  EXPECT_EQ(labels_of(ticker, 0.021, 0.029), "0.022 0.024 0.026 0.028");
}

TEST(AxisTickerTest, FewDecadesHaveTicksAtTwoAndFive) {
  LogTicker ticker;
  EXPECT_EQ(labels_of(ticker, 1.5, 30.0), "2 5 10 20");
  EXPECT_EQ(labels_of(ticker, 0.05, 2.0), "0.05 0.1 0.2 0.5 1 2");
}

TEST(AxisTickerTest, NarrowPanelsHaveFewerTicksOnLogarithmicAxes) {
  LogTicker ticker;
  ticker.setTickCount(3);
  EXPECT_EQ(labels_of(ticker, 1.5, 300.0), "10 100");
  EXPECT_EQ(labels_of(ticker, 0.5, 2e6), "1e+00 1e+02 1e+04 1e+06");
}

TEST(AxisTickerTest, ManyDecadesHavePowersOfTen) {
  LogTicker ticker;
  EXPECT_EQ(labels_of(ticker, 0.5, 2e4), "1 10 100 1000 10000");
  EXPECT_EQ(labels_of(ticker, 1e3, 2e9), "1e+03 1e+04 1e+05 1e+06 1e+07 1e+08 1e+09");
  EXPECT_EQ(labels_of(ticker, 1e-12, 1.0), "1e-12 1e-10 1e-08 1e-06 1e-04 1e-02 1e+00");
}

}  // namespace
}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QPointF>
#include <QRectF>
#include <QVariant>

namespace lime {

/// A plottable that is drawn in given ranges, without selection and legend icon.
class FixedPlottable : public QCPAbstractPlottable {
 public:
  using QCPAbstractPlottable::QCPAbstractPlottable;
  double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }
  QCPRange getKeyRange(bool& found, QCP::SignDomain) const override { return no_range(found); }
  QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override {
    return no_range(found);
  }

 protected:
  void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

 private:
  static QCPRange no_range(bool& found) {
    found = false;
    return {};
  }
};

}  // namespace lime

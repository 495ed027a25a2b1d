// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/route_controls.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>

namespace lime::explorer {
namespace {

constexpr double kLargestScale = 100.0;
constexpr double kScaleStep = 0.25;
constexpr int kSliderSteps = 100;  // for a factor of 1

}  // namespace

RouteControls::RouteControls(QWidget* parent)
    : QWidget(parent),
      scope_(new QComboBox),
      slider_(new QSlider(Qt::Horizontal)),
      scale_(new QDoubleSpinBox),
      off_(new QPushButton(QStringLiteral("Switch &off"))),
      restore_(new QPushButton(QStringLiteral("&Restore"))) {
  scope_->setAccessibleName(QStringLiteral("edited routes"));
  scope_->setToolTip(QStringLiteral(
      "Routes around the selected cell that are edited: one weight, or all of a head, a layer or a "
      "source. A route is a weight by which a head mixes the keys and values of a buffered head "
      "into "
      "its own"));
  scope_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  scope_->setMinimumContentsLength(20);
  for (const RouteScope scope : kRouteScopes) scope_->addItem({}, static_cast<int>(scope));
  slider_->setRange(0, 2 * kSliderSteps);
  slider_->setPageStep(kSliderSteps / 4);
  slider_->setAccessibleName(QStringLiteral("scale of the routes, percent"));
  scale_->setRange(-kLargestScale, kLargestScale);
  scale_->setSingleStep(kScaleStep);
  scale_->setDecimals(3);
  scale_->setKeyboardTracking(false);
  scale_->setPrefix(QStringLiteral("× "));
  scale_->setAccessibleName(QStringLiteral("scale of the routes"));
  for (QWidget* const widget : {static_cast<QWidget*>(slider_), static_cast<QWidget*>(scale_)}) {
    widget->setToolTip(
        QStringLiteral("Factor of the selected weights: 0 ablates them, 1 keeps the original "
                       "weights, -1 inverts their signs"));
  }
  off_->setToolTip(QStringLiteral("Scale the selected routes by 0 (0 or Delete on a heatmap)"));
  restore_->setToolTip(QStringLiteral("Remove the edit of these routes (1 on a heatmap)"));
  auto* const routes = new QLabel(QStringLiteral("Rou&tes"));
  routes->setBuddy(scope_);
  auto* const scale = new QLabel(QStringLiteral("&Scale"));
  scale->setBuddy(scale_);
  auto* const grid = new QGridLayout(this);
  grid->setContentsMargins(12, 6, 12, 6);
  grid->addWidget(routes, 0, 0);
  grid->addWidget(scope_, 0, 1, 1, 4);
  grid->addWidget(scale, 1, 0);
  grid->addWidget(slider_, 1, 1);
  grid->addWidget(scale_, 1, 2);
  grid->addWidget(off_, 1, 3);
  grid->addWidget(restore_, 1, 4);
  grid->setColumnStretch(1, 1);
  connect(scope_, &QComboBox::activated, this, &RouteControls::scopeSelected);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int value) { Q_EMIT scaleRequested(static_cast<double>(value) / kSliderSteps); });
  connect(scale_, &QDoubleSpinBox::valueChanged, this, &RouteControls::scaleRequested);
  connect(off_, &QPushButton::clicked, this, [this] { Q_EMIT scaleRequested(0.0); });
  connect(restore_, &QPushButton::clicked, this, [this] { Q_EMIT scaleRequested(1.0); });
}

RouteScope RouteControls::scope() const {
  return static_cast<RouteScope>(scope_->currentData().toInt());
}

QString RouteControls::scopeText() const { return scope_->currentText(); }

void RouteControls::setScope(RouteScope scope) {
  scope_->setCurrentIndex(scope_->findData(static_cast<int>(scope)));
}

void RouteControls::stepScope(bool forwards) {
  const int step = forwards ? 1 : scope_->count() - 1;
  scope_->setCurrentIndex((scope_->currentIndex() + step) % scope_->count());
  Q_EMIT scopeSelected();
}

void RouteControls::listScopes(const Selection& selection, int layer_base) {
  for (int i = 0; i < scope_->count(); ++i) {
    const auto scope = static_cast<RouteScope>(scope_->itemData(i).toInt());
    scope_->setItemText(i, routesText(routesOf(scope, selection), layer_base));
  }
}

void RouteControls::setScale(double scale) {
  const QSignalBlocker quiet_slider(slider_);
  const QSignalBlocker quiet_scale(scale_);
  slider_->setValue(static_cast<int>(std::clamp(scale, 0.0, 2.0) * kSliderSteps + 0.5));
  scale_->setValue(scale);
  off_->setEnabled(scale != 0.0);
  restore_->setEnabled(scale != 1.0);
}

}  // namespace lime::explorer

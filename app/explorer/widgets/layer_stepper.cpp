// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/layer_stepper.h"

#include <QLabel>
#include <QLayout>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>

#include "explorer/models/text.h"

namespace lime::explorer {

LayerStepper::LayerStepper(QLayout& bar, const QString& toolTip)
    : label_(new QLabel), slider_(new QSlider(Qt::Horizontal)) {
  slider_->setAccessibleName(u"layer"_s);
  slider_->setToolTip(toolTip);
  slider_->setPageStep(1);
  slider_->setTickPosition(QSlider::TicksBelow);
  slider_->setTickInterval(1);
  slider_->setMinimumWidth(120);
  bar.addWidget(label_);
  bar.addWidget(slider_);
  connect(slider_, &QSlider::valueChanged, this, [this](int at) {
    if (at >= 0 && at < std::ssize(layers_)) {
      Q_EMIT layerSelected(layers_[static_cast<std::size_t>(at)]);
    }
  });
}

void LayerStepper::setLayers(const std::vector<int>& layers, std::optional<int> now,
                             int layer_base) {
  layers_ = layers;
  const QSignalBlocker quiet(slider_);
  slider_->setRange(0, std::max(0, static_cast<int>(layers.size()) - 1));
  slider_->setEnabled(layers.size() > 1);
  if (now) slider_->setValue(static_cast<int>(std::ranges::find(layers, *now) - layers.begin()));
  label_->setText(now ? u"Layer %1"_s.arg(*now + layer_base) : u"Layer"_s);
}

void LayerStepper::step(int count) { slider_->setValue(slider_->value() + count); }

}  // namespace lime::explorer

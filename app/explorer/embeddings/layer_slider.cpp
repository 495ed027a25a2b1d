// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/layer_slider.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPropertyAnimation>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

constexpr int kStepsPerLayer = 100;  // of the slider
constexpr int kMoveMs = 500;         // from layer to layer

}  // namespace

LayerSlider::LayerSlider()
    : play_(new QToolButton),
      label_(new QLabel),
      slider_(new QSlider(Qt::Horizontal)),
      animation_(new QPropertyAnimation(slider_, "value", this)) {
  slider_->setAccessibleName(u"layer"_s);
  slider_->setToolTip(u"Layer; between two layers the points are interpolated"_s);
  slider_->setSingleStep(kStepsPerLayer);
  slider_->setPageStep(kStepsPerLayer);
  slider_->setMinimumWidth(60);
  animation_->setEasingCurve(QEasingCurve::InOutCubic);
  auto* const row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  play_->setText(u"Play"_s);
  play_->setAccessibleName(u"play through layers"_s);
  play_->setToolTip(u"Animate the points from the first layer to the last (P)"_s);
  row->addWidget(play_);
  row->addWidget(label_);
  row->addWidget(slider_, 1);
  connect(play_, &QToolButton::clicked, this, &LayerSlider::playRequested);
  connect(animation_, &QPropertyAnimation::stateChanged, this,
          [this](QAbstractAnimation::State state) {
            if (state != QAbstractAnimation::Running) is_playing_ = false;
            play_->setText(is_playing_ ? u"Stop"_s : u"Play"_s);
          });
  connect(slider_, &QSlider::valueChanged, this, [this] {
    label_->setText(layers_.empty() ? QString() : u"Layer %1"_s.arg(current() + layer_base_));
    Q_EMIT moved();
    // A drag selects its layer when it ends; an animation was started by a selection.
    const bool is_moving = animation_->state() == QAbstractAnimation::Running;
    if (!slider_->isSliderDown() && !is_moving) Q_EMIT layerSelected(current());
  });
  connect(slider_, &QSlider::sliderReleased, this, [this] { Q_EMIT released(current()); });
}

void LayerSlider::setLayers(std::vector<int> layers, int layer_base) {
  animation_->stop();
  layers_ = std::move(layers);
  layer_base_ = layer_base;
  play_->setEnabled(layers_.size() > 1);
  const QSignalBlocker quiet(slider_);
  slider_->setRange(0, kStepsPerLayer * std::max(0, static_cast<int>(layers_.size()) - 1));
  label_->setText(layers_.empty() ? QString() : u"Layer %1"_s.arg(current() + layer_base_));
}

void LayerSlider::updateLayers(const std::vector<int>& layers) {
  if (layers == layers_) return;
  const int layer = current();
  setLayers(layers, layer_base_);
  jumpTo(layer);
}

int LayerSlider::current() const {
  if (layers_.empty()) return 0;
  const auto at =
      static_cast<std::size_t>((slider_->value() + kStepsPerLayer / 2) / kStepsPerLayer);
  return layers_[std::min(at, layers_.size() - 1)];
}

int LayerSlider::placeOf(int layer) const {
  const auto at = std::find(layers_.begin(), layers_.end(), layer);
  return at == layers_.end() ? -1 : static_cast<int>(at - layers_.begin());
}

int LayerSlider::neighbour(int layer, int step) const {
  const int at = placeOf(layer) >= 0 ? placeOf(layer) : placeOf(current());
  return layers_[static_cast<std::size_t>(
      std::clamp(at + step, 0, static_cast<int>(layers_.size()) - 1))];
}

LayerSlider::Position LayerSlider::position() const {
  const auto before = static_cast<std::size_t>(slider_->value() / kStepsPerLayer);
  return {before, std::min(before + 1, layers_.size() - 1),
          static_cast<float>(slider_->value() % kStepsPerLayer) / kStepsPerLayer};
}

void LayerSlider::animate(int from, int to, int num_layers) {
  if (animation_->state() == QAbstractAnimation::Running) animation_->stop();
  animation_->setDuration(kMoveMs * std::max(1, num_layers));
  animation_->setStartValue(from);
  animation_->setEndValue(to);
  animation_->start();
}

bool LayerSlider::moveTo(int layer) {
  const int at = placeOf(layer);
  if (at >= 0) animate(slider_->value(), kStepsPerLayer * at, 1);
  return at >= 0;
}

bool LayerSlider::jumpTo(int layer) {
  animation_->stop();
  const int at = placeOf(layer);
  if (at < 0) return false;
  const QSignalBlocker quiet(slider_);
  slider_->setValue(kStepsPerLayer * at);
  label_->setText(u"Layer %1"_s.arg(layer + layer_base_));
  return true;
}

void LayerSlider::play() {
  if (is_playing_) {
    animation_->stop();
    return;
  }
  animation_->stop();
  is_playing_ = true;
  animate(0, slider_->maximum(), static_cast<int>(layers_.size()) - 1);
}

bool LayerSlider::isPlaying() const { return is_playing_; }

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/play_bar.h"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSlider>
#include <QTimer>
#include <QToolButton>
#include <algorithm>

#include "explorer/models/text.h"

namespace lime::explorer {

PlayBar::PlayBar(const QString& name, const QString& toolTip)
    : play_(new QToolButton), slider_(new QSlider(Qt::Horizontal)), clock_(new QTimer(this)) {
  constexpr int kFrameMs = 350;
  play_->setText(u"Play"_s);
  play_->setCheckable(true);
  play_->setToolTip(toolTip);
  slider_->setMinimumWidth(70);
  slider_->setMaximumWidth(140);
  slider_->setAccessibleName(name);
  auto* const line = new QHBoxLayout(this);
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(play_);
  line->addWidget(slider_);
  clock_->setInterval(kFrameMs);
  connect(play_, &QToolButton::toggled, clock_,
          [this](bool on) { on ? clock_->start() : clock_->stop(); });
  connect(clock_, &QTimer::timeout, this, [this] {
    const bool is_last = slider_->value() == slider_->maximum();
    step(is_last ? -slider_->maximum() : 1);
  });
  connect(slider_, &QSlider::valueChanged, this, &PlayBar::frameSelected);
  hide();
}

void PlayBar::setCount(int frames) {
  const QSignalBlocker quiet(slider_);
  slider_->setRange(0, std::max(0, frames - 1));
  setVisible(frames > 1);
  if (frames < 2) setPlaying(false);
}

int PlayBar::frame() const { return slider_->value(); }

void PlayBar::setFrame(int frame) {
  const QSignalBlocker quiet(slider_);
  slider_->setValue(frame);
}

bool PlayBar::isPlaying() const { return play_->isChecked(); }
void PlayBar::setPlaying(bool playing) { play_->setChecked(playing); }
void PlayBar::step(int steps) { slider_->setValue(slider_->value() + steps); }

}  // namespace lime::explorer

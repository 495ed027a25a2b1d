// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_controls.h"

#include <QCheckBox>
#include <QSlider>

#include "explorer/models/document.h"
#include "explorer/models/workspace.h"
#include "explorer/router/source_pane.h"
#include "explorer/widgets/controls.h"

namespace lime::explorer {
namespace {

constexpr int kThresholdSteps = 100;
constexpr int kNameLength = 8;        // letters of a checkpoint that are shown
constexpr int kWholeNameLength = 28;  // where there are no other controls

QComboBox* checkpointBox(const QString& toolTip) {
  auto* const box = new QComboBox;
  box->setToolTip(toolTip);
  box->setMinimumContentsLength(kNameLength);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  return box;
}

/// Weightings of the last items of the weights.
constexpr std::array<std::string_view, 3> kWeightings = {"", "keys", "values"};

}  // namespace

RouterControls::RouterControls()
    : checkpoint_(checkpointBox(
          u"Checkpoint whose routers are shown, or capture of the routing weights of each "
          u"token"_s)),
      other_(
          checkpointBox(u"Subtract the router weights of another checkpoint of the same shape"_s)),
      sign_(new QComboBox),
      normalised_(new QCheckBox(u"&Normalised"_s)),
      sorted_(new QCheckBox(u"&Sorted"_s)),
      threshold_(new QSlider(Qt::Horizontal)),
      animation_(new PlayBar(u"checkpoint of the series"_s,
                             u"Animate the open checkpoints of this shape (Space)"_s)) {
  sign_->addItems({u"magnitude"_s, u"signed"_s, u"times uniform"_s, u"times size of keys"_s,
                   u"times size of values"_s});
  sign_->setWhatsThis(
      u"|R|; R, where negative weights subtract their source; or the fraction of |R| relative to "
      u"1/n, that of a uniform router. |R| depends on the scale of keys and values (see ?); times "
      u"their size, the root mean square of each buffered head in an open capture of the "
      u"checkpoint, it does not"_s);
  normalised_->setChecked(true);
  normalised_->setWhatsThis(
      u"Divide by the sum of |R| over all sources of a layer or head, as in the paper's "
      u"figures"_s);
  sorted_->setWhatsThis(u"Order buffered layers and heads by strength"_s);
  sign_->setMinimumWidth(kLeastBoxWidth);
  threshold_->setRange(0, kThresholdSteps);
  threshold_->setMinimumWidth(70);
  threshold_->setMaximumWidth(120);
  threshold_->setWhatsThis(u"Hide weights below this fraction of the largest one"_s);
  threshold_->setAccessibleName(u"threshold, percent of the largest weight"_s);
  setDisplayEnabled(true);
  BarLayout* const line = makeBar(*this);
  addLabelled(*line, u"&Checkpoint"_s, checkpoint_);
  addLabelled(*line, u"&minus"_s, other_);
  addLabelled(*line, u"&Weights"_s, sign_);
  line->addWidget(normalised_);
  line->addWidget(sorted_);
  addLabelled(*line, u"&Threshold"_s, threshold_);
  line->addStretch();
  line->addWidget(animation_);
  connect(checkpoint_, &QComboBox::activated, this, [this] { Q_EMIT checkpointSelected(); });
  connect(other_, &QComboBox::activated, this, [this] { Q_EMIT otherSelected(); });
  connect(animation_, &PlayBar::frameSelected, this, [this](int at) {
    if (at >= static_cast<int>(series_.size())) return;
    setCheckpoint(series_[static_cast<std::size_t>(at)]);
    Q_EMIT checkpointSelected();
  });
  const auto changes = [this](auto* control, auto signal, const QString& what) {
    connect(control, signal, this, [this, what] { Q_EMIT displayChanged(what); });
  };
  changes(sign_, &QComboBox::activated, u"Magnitude or signed"_s);
  changes(normalised_, &QCheckBox::toggled, u"Normalised or raw"_s);
  changes(sorted_, &QCheckBox::toggled, u"Sort"_s);
  changes(threshold_, &QSlider::valueChanged, u"Move the threshold"_s);
}

void RouterControls::setCheckpoints(const Workspace& workspace) {
  const int requested = checkpoint();
  const int wanted_other = other();
  const QSignalBlocker quiet(checkpoint_);
  const QSignalBlocker quiet_other(other_);
  checkpoint_->clear();
  other_->clear();
  other_->addItem(u"nothing"_s, 0);
  for (const Document* const document : workspace.documentsOf(DocumentKind::kCheckpoint)) {
    checkpoint_->addItem(document->label, document->id);
    other_->addItem(document->label, document->id);
  }
  for (const Document* const document : workspace.documentsOf(DocumentKind::kCapture)) {
    if (SourcePane::isSource(*document)) checkpoint_->addItem(document->label, document->id);
  }
  selectData(*checkpoint_, requested);
  selectData(*other_, wanted_other);
  other_->setVisible(other_->count() > 2);  // "nothing", and itself
}

int RouterControls::checkpoint() const { return checkpoint_->currentData().toInt(); }
int RouterControls::other() const { return other_->currentData().toInt(); }

void RouterControls::setCheckpoint(int id) {
  selectData(*checkpoint_, id);
  const auto at = std::find(series_.begin(), series_.end(), id);
  if (at != series_.end()) animation_->setFrame(static_cast<int>(at - series_.begin()));
}

void RouterControls::setDisplayEnabled(bool enabled) {
  for (QWidget* const control :
       std::initializer_list<QWidget*>{sign_, normalised_, sorted_, threshold_}) {
    control->setVisible(enabled);  // they are for stored router weights only
    control->setToolTip(control->whatsThis());
  }
  checkpoint_->setMinimumContentsLength(enabled ? kNameLength : kWholeNameLength);
}

void RouterControls::setOther(int id) { selectData(*other_, id); }

RouterDisplay RouterControls::display() const {
  RouterDisplay display;
  display.is_signed = sign_->currentIndex() == 1;
  display.is_uniform = sign_->currentIndex() == 2;
  display.is_normalised = display.is_uniform || normalised_->isChecked();
  display.weighting = kWeightings[static_cast<std::size_t>(std::max(sign_->currentIndex(), 2) - 2)];
  display.is_sorted = sorted_->isChecked();
  display.threshold = static_cast<double>(threshold_->value()) / kThresholdSteps;
  return display;
}

void RouterControls::setDisplay(const RouterDisplay& display) {
  const QSignalBlocker quiet(this);
  const auto weighting = std::ranges::find(kWeightings, display.weighting);
  const bool is_weighted = !display.weighting.empty() && weighting != kWeightings.end();
  sign_->setCurrentIndex(is_weighted         ? 2 + static_cast<int>(weighting - kWeightings.begin())
                         : display.is_signed ? 1
                         : display.is_uniform ? 2
                                              : 0);
  normalised_->setChecked(display.is_normalised);
  sorted_->setChecked(display.is_sorted);
  threshold_->setValue(static_cast<int>(display.threshold * kThresholdSteps + 0.5));
}

void RouterControls::setSeries(const std::vector<int>& ids) {
  series_ = ids;
  animation_->setCount(static_cast<int>(ids.size()));
  setCheckpoint(checkpoint());
}

bool RouterControls::isPlaying() const { return animation_->isPlaying(); }
void RouterControls::setPlaying(bool playing) { animation_->setPlaying(playing); }

void RouterControls::step(int steps) { animation_->step(steps); }

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
// Layers of the Clouds view, and what is stored of it.
#include <QComboBox>
#include <QLabel>
#include <QPropertyAnimation>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>

#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/clouds_view.h"

namespace lime::explorer {

bool CloudsView::isOutdated() const {
  const Document* const document = workspace().find(loaded_);
  if (document == nullptr && loaded_ != kComputed) return false;
  if (document != nullptr && document->results != loaded_results_) return true;
  const bool has_gaps =
      std::any_of(set_.models.begin(), set_.models.end(),
                  [](const CloudModel& model) { return model.sentences == nullptr; });
  const CloudSurroundings now = surroundings();
  for (const auto& [path, capture] : now.captures) {
    const auto before = loaded_with_.captures.find(path);
    const bool is_new = before == loaded_with_.captures.end();
    // A capture that was read anew, or one that may be what a model lacks.
    if (is_new ? has_gaps : before->second != capture) return true;
  }
  return false;
}

void CloudsView::placeSlider() {
  const QSignalBlocker quiet(slider_);
  const std::optional<int> wanted = workspace().selection().layer;
  const auto at = std::find(layers_.begin(), layers_.end(), wanted.value_or(-1));
  if (at != layers_.end()) {
    slider_->setValue(kStepsPerLayer * static_cast<int>(at - layers_.begin()));
  }
}

void CloudsView::layerMoved() {
  placePoints();
  layer_label_->setText(
      layers_.empty() ? QString()
                      : QStringLiteral("Layer %1").arg(currentLayer() + preferences().layer_base));
  Q_EMIT figureChanged();
}

void CloudsView::goToLayer(int layer) {
  const auto at = std::find(layers_.begin(), layers_.end(), layer);
  if (at == layers_.end()) return;
  animation_->stop();
  animation_->setDuration(kMoveMs);
  animation_->setStartValue(slider_->value());
  animation_->setEndValue(kStepsPerLayer * static_cast<int>(at - layers_.begin()));
  animation_->start();
  Selection selection = workspace().selection();
  selection.layer = layer;
  workspace().setSelection(selection);
}

void CloudsView::selectLayer(int layer) {
  changeState(QStringLiteral("Select a layer"), [&] { goToLayer(layer); });
}

void CloudsView::play() {
  if (layers_.empty()) return;
  changeState(QStringLiteral("Play through layers"), [this] {
    goToLayer(layers_.back());
    animation_->stop();
    animation_->setDuration(kMoveMs * std::max(1, static_cast<int>(layers_.size()) - 1));
    animation_->setStartValue(0);
    animation_->start();
  });
}

void CloudsView::sliderMoved() {
  layerMoved();
  // A drag selects its layer when it ends, the animation has done so before it began.
  if (slider_->isSliderDown() || animation_->state() == QAbstractAnimation::Running) return;
  changeState(QStringLiteral("Select a layer"), [this] {
    Selection selection = workspace().selection();
    selection.layer = currentLayer();
    workspace().setSelection(selection);
  });
}

void CloudsView::walkLayers(int step) {
  if (layers_.empty()) return;
  // From where the animation is going, so that keys that follow each other add up.
  const int layer = workspace().selection().layer.value_or(currentLayer());
  const auto found = std::find(layers_.begin(), layers_.end(), layer);
  const auto at = static_cast<int>(
      (found == layers_.end() ? std::find(layers_.begin(), layers_.end(), currentLayer()) : found) -
      layers_.begin());
  selectLayer(layers_[static_cast<std::size_t>(
      std::clamp(at + step, 0, static_cast<int>(layers_.size()) - 1))]);
}

QStringList CloudsView::commandLines() const {
  if (layers_.empty()) return {};
  QStringList lines;
  QString results = QStringLiteral("clouds.json");
  if (const Document* const document = workspace().find(loaded_)) {
    results = quotedForShell(toQString(document->path));
  } else {
    QString line = QStringLiteral("lime-metrics tsne");
    for (const Document* const capture : workspace().documentsOf(DocumentKind::kCapture)) {
      line += QLatin1Char(' ') + quotedForShell(toQString(capture->path));
    }
    lines << line + QStringLiteral(" --site %1 --max-points 2000 --align -o clouds.json")
                        .arg(site_->currentText());
  }
  lines << QStringLiteral("lime-figure %1 --site %2 --layer %3%4 -o clouds.pdf")
               .arg(results, site_->currentText())
               .arg(currentLayer())
               .arg(preferences().layer_base != 0 ? QStringLiteral(" --layer-base 1") : QString());
  return lines;
}

std::vector<Habit> CloudsView::habits() const {
  return {{QStringLiteral("From point to point"), QStringLiteral("Arrows")},
          {QStringLiteral("From point to point, and choose them"), QStringLiteral("Shift+Arrows")},
          {QStringLiteral("Neighbours of a point, of a token in the list"),
           QStringLiteral("click, double click")},
          {QStringLiteral("Choose points, add to them"), QStringLiteral("Drag, Ctrl+Drag")}};
}

Json CloudsView::state() const {
  const Selection& selection = workspace().selection();
  const Document* const source = workspace().find(source_->currentData().toInt());
  Json layer = nullptr;
  if (!layers_.empty()) layer = selection.layer.value_or(layers_.front());
  Json centre;
  if (centre_) {
    centre = {{"model", centre_->label.toStdString()}, {"token", tokensToJson(centre_->token)}};
  }
  return {{"source", source == nullptr ? std::string() : source->path.string()},
          {"site", site()},
          {"colour", colour_->currentText().toStdString()},
          {"layer", layer},
          {"neighbours", centre}};
}

void CloudsView::setState(const Json& state) {
  for (const Document* const document : workspace().documentsOf(DocumentKind::kResults)) {
    if (document->path.string() == state.value("source", "")) chooseData(*source_, document->id);
  }
  if (source_->currentData().toInt() != loaded_) loadSource();
  const std::string site_before = site();
  chooseData(*site_, toQString(state.value("site", std::string())));
  const int at = colour_->findText(toQString(state.value("colour", std::string())));
  if (at >= 0) colour_->setCurrentIndex(at);
  if (state.contains("neighbours")) {
    const Json& centre = state.at("neighbours");
    centre_.reset();
    if (!centre.is_null()) {
      centre_ = Centre{toQString(centre.at("model").get<std::string>()),
                       tokensFromJson(centre.at("token"))};
    }
  }
  if (state.contains("layer") && state["layer"].is_number()) {
    Selection selection = workspace().selection();
    selection.layer = state["layer"].get<int>();
    workspace().setSelection(selection);
  }
  if (site() != site_before) {
    makeCanvases();
    return;
  }
  // The same clouds, and the parts of them that are seen.
  animation_->stop();
  placeSlider();
  colourPoints();
  layerMoved();
  showSelection();
  findNeighbours();
  rememberState();
}

}  // namespace lime::explorer

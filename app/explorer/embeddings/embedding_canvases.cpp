// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_canvases.h"

#include <QGridLayout>
#include <QPropertyAnimation>
#include <QSlider>
#include <QToolButton>
#include <QToolTip>

#include "explorer/embeddings/embedding_canvas.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/sentence_delegate.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr int kStepsPerLayer = 100;  // of the slider
constexpr int kMoveMs = 500;         // from layer to layer

constexpr int kMaxColumns = 4;
constexpr int kBarCells = 24;  // of the colour bar

/// Returns the area of all layers of all models, so that nothing jumps between layers.
QRectF extentOf(const EmbeddingSet& set, const std::string& site) {
  QRectF extent;
  for (const EmbeddedModel& model : set.models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (layer.site != site || layer.coordinates.rows() == 0) continue;
      const auto low = layer.coordinates.colwise().minCoeff().cast<double>().eval();
      const auto high = layer.coordinates.colwise().maxCoeff().cast<double>().eval();
      const QRectF own(QPointF(low(0), low(1)), QPointF(high(0), high(1)));
      extent = extent.isNull() ? own : extent.united(own);
    }
  }
  return extent.isNull() ? QRectF(-1.0, -1.0, 2.0, 2.0) : extent;
}

QVariant tokenData(const SelectedToken& row, int role) {
  if (role == kSentenceRole) return QVariant::fromValue(row.sentence);
  if (role != Qt::ToolTipRole) return {};
  return u"sequence %1, position %2\n%3"_s.arg(row.sequence)
      .arg(row.position)
      .arg(row.sentence.text());
}

constexpr std::size_t kMaxListed = 2000;  // in the list

const QString kHint =
    u"Drag a lasso around points to select their tokens, or click a point for its neighbours"_s;

QString titleOf(const EmbeddingSet& set, const TokenSelection& selected, std::size_t num_points,
                std::size_t model) {
  if (num_points > 0) {
    QString title =
        u"<b>%1 of %2 tokens</b> are selected"_s.arg(num_points).arg(set.models[model].size());
    if (num_points > kMaxListed) title += u"; the first %1 are listed"_s.arg(kMaxListed);
    const bool is_one_text = set.numOfText(selected.text) == set.models.size();
    if (!is_one_text) title += u"; embeddings of other texts show none of them"_s;
    return title;
  }
  if (set.models.empty() || selected.empty()) return kHint;
  if (set.numOfText(selected.text) == 0) {
    return u"The selected tokens are from a different text than these embeddings"_s;
  }
  return u"None of the %1 selected tokens is among the points"_s.arg(selected.places.size());
}

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

EmbeddingCanvases::EmbeddingCanvases() : grid_(new QGridLayout(this)), message_(new QLabel) {
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setSpacing(1);
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  message_->setForegroundRole(QPalette::PlaceholderText);
  grid_->addWidget(message_, 0, 0);
}

void EmbeddingCanvases::setSet(const EmbeddingSet& set, const std::string& site) {
  qDeleteAll(canvases_);
  canvases_.clear();
  set_ = &set;
  site_ = site;
  const bool is_empty = set.layers(site).empty();
  message_->setVisible(is_empty);
  const QRectF extent = extentOf(set, site);
  const auto count = static_cast<int>(set.models.size());
  const int columns = count <= 3 ? std::max(count, 1) : std::min((count + 1) / 2, kMaxColumns);
  for (std::size_t m = 0; m < set.models.size() && !is_empty; ++m) {
    addCanvas(columns);
    canvases_.back()->setPoints(MatrixF::Zero(set.models[m].size(), 2), extent);
  }
}

bool EmbeddingCanvases::updateSet(const std::string& site) {
  const auto hasPoints = [](const EmbeddingCanvas* canvas, const EmbeddedModel& model) {
    return canvas->size() == model.size();
  };
  if (set_ == nullptr || site != site_ || set_->layers(site).empty()) return false;
  if (!std::ranges::equal(canvases_, set_->models, hasPoints)) return false;
  for (EmbeddingCanvas* const canvas : canvases_) canvas->setExtent(extentOf(*set_, site));
  return true;
}

void EmbeddingCanvases::addCanvas(int columns) {
  auto* const canvas = new EmbeddingCanvas;
  const std::size_t model = canvases_.size();
  const auto forward = [&](auto from, auto to) {
    connect(canvas, from, this,
            [this, model, to](const auto&... of) { (this->*to)(model, of...); });
  };
  connect(canvas, &EmbeddingCanvas::hovered, this, [this, model](int point) {
    describe(model, point);
    Q_EMIT hovered(model, point);
  });
  forward(&EmbeddingCanvas::clicked, &EmbeddingCanvases::clicked);
  forward(&EmbeddingCanvas::lassoed, &EmbeddingCanvases::lassoed);
  forward(&EmbeddingCanvas::windowChanged, &EmbeddingCanvases::windowChanged);
  canvas->addActions(actions());
  grid_->addWidget(canvas, static_cast<int>(model) / columns, static_cast<int>(model) % columns);
  canvases_.push_back(canvas);
}

void EmbeddingCanvases::placePoints(const std::vector<int>& layers,
                                    const LayerSlider::Position& position, int shown_layer) {
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const MatrixF* const from = set_->models[m].coordinates(site_, layers[position.before]);
    const MatrixF* const to = set_->models[m].coordinates(site_, layers[position.after]);
    MatrixF points = from != nullptr ? *from : MatrixF::Zero(set_->models[m].size(), 2);
    if (to != nullptr) points += position.fraction * (*to - points);
    canvases_[m]->movePoints(std::move(points));
    const int nearest = layers[position.fraction < 0.5F ? position.before : position.after];
    const bool is_plane = set_->models[m].preliminary.contains({site_, nearest});
    canvases_[m]->setTitle(
        u"%1, layer %2%3"_s.arg(set_->models[m].label)
            .arg(shown_layer)
            .arg(is_plane ? u": principal components, t-SNE follows"_s : QString()));
  }
}

QString EmbeddingCanvases::colourPoints(const EmbeddingGroups& groups, const QString& colour_name) {
  const bool dark = isDark(palette());
  std::vector<std::optional<QRgb>> colour_of(groups.names.size());
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const std::vector<QRgb> colours = coloursOf(groups, m, dark);
    canvases_[m]->setColours(colours);
    for (std::size_t i = 0; i < colours.size() && !colour_of.empty(); ++i) {
      colour_of[static_cast<std::size_t>(groups.group[m][i])] = colours[i];
    }
  }
  QStringList entries;
  for (std::size_t group = 0; group < colour_of.size(); ++group) {
    if (!colour_of[group]) continue;
    entries << u"<span style='color:%1'>&#9679;</span>&nbsp;"
               "<a href='%2' style='color:%3; text-decoration:none'>%4</a>"_s
                   .arg(QColor(*colour_of[group]).name())
                   .arg(group)
                   .arg(palette().color(QPalette::WindowText).name(),
                        toQString(groups.names[group]).toHtmlEscaped());
  }
  if (groups.names.empty() && !canvases_.empty()) {
    QString bar;
    for (int i = 0; i < kBarCells; ++i) {
      bar += u"<span style='background-color:%1'>&nbsp;&nbsp;</span>"_s.arg(
          QColor(colourOf(i / (kBarCells - 1.0), dark)).name());
    }
    entries << u"first&nbsp;%1 %2 last"_s.arg(colour_name, bar);
  }
  return entries.join(u"&nbsp;&nbsp; "_s);
}

void EmbeddingCanvases::describe(std::size_t model, int point) {
  EmbeddingCanvas* const canvas = canvases_[model];
  if (point < 0) {
    QToolTip::hideText();
    return;
  }
  const SelectedToken token = set_->models[model].describe(point);
  const QString note = token.note.isEmpty() ? QString() : u" (%1)"_s.arg(token.note);
  QToolTip::showText(
      canvas->mapToGlobal(canvas->toPixel(point).toPoint()),
      u"<b>%1</b>%2<br>sequence %3, position %4<br>%5<b>%6</b>%7"_s
          .arg(token.token.toHtmlEscaped(), note.toHtmlEscaped())
          .arg(token.sequence)
          .arg(token.position)
          .arg(token.sentence.before.toHtmlEscaped(), token.sentence.token.toHtmlEscaped(),
               token.sentence.after.toHtmlEscaped()),
      canvas);
}

void EmbeddingCanvases::select(const TokenSelection& tokens) {
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    canvases_[m]->setSelected(set_->models[m].pointsOf(tokens));
  }
}

void EmbeddingCanvases::setCentre(std::size_t model, int point,
                                  const std::vector<int>& neighbours) {
  const EmbeddedModel& own = set_->models[model];
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const EmbeddedModel& other = set_->models[m];
    const std::vector<int> centre = other.pointsOf(own.tokensAt({point}));
    if (centre.empty()) {
      canvases_[m]->setCentre(-1, {});
    } else {
      canvases_[m]->setCentre(centre.front(), other.pointsOf(own.tokensAt(neighbours)));
    }
  }
}

void EmbeddingCanvases::removeCentre() {
  for (EmbeddingCanvas* const canvas : canvases_) canvas->setCentre(-1, {});
}

std::size_t EmbeddingCanvases::active(std::size_t otherwise) const {
  const auto focused = std::ranges::find_if(canvases_, &QWidget::hasFocus);
  if (focused != canvases_.end()) return static_cast<std::size_t>(focused - canvases_.begin());
  return otherwise < canvases_.size() ? otherwise : 0;
}

void SelectedTokensModel::setTokens(std::vector<SelectedToken> tokens, const QString& note_title) {
  using Row = const SelectedToken&;
  const auto column = [](const QString& title, auto text) {
    return TableColumn<SelectedToken>{.title = title, .text = text, .further = tokenData};
  };
  setTable({column(u"Token"_s, [](Row row) { return row.token; }),
            column(note_title, [](Row row) { return row.note; }),
            column(u"Sentence"_s, [](Row row) { return row.sentence.text(); })},
           std::move(tokens));
}

TokenList::TokenList()
    : title_(makeCaption(kHint)),
      table_(makeTable(tokens_, u"selected tokens in their sentences"_s)) {
  table_->setItemDelegateForColumn(SelectedTokensModel::kSentence, new SentenceDelegate(table_));
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    Q_EMIT neighboursRequested(model_, tokens_.at(index.row()).point);
  });
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(title_);
  column->addWidget(table_, 1);
}

void TokenList::showSelection(const EmbeddingSet& set, const TokenSelection& selected) {
  const auto pointsIn = [&](std::size_t m) { return set.models[m].pointsOf(selected); };
  if (model_ >= set.models.size() || pointsIn(model_).empty()) {
    model_ = 0;
    while (model_ < set.models.size() && pointsIn(model_).empty()) ++model_;
    if (model_ == set.models.size()) model_ = 0;
  }
  const std::vector<int> points = set.models.empty() ? std::vector<int>() : pointsIn(model_);
  std::vector<SelectedToken> tokens;
  for (std::size_t i = 0; i < std::min(points.size(), kMaxListed); ++i) {
    tokens.push_back(set.models[model_].describe(points[i]));
  }
  title_->setText(titleOf(set, selected, points.size(), model_));
  tokens_.setTokens(std::move(tokens), u"Class"_s);
}

void TokenList::showNeighbours(const EmbeddingSet& set, std::size_t model, int point,
                               const std::vector<NearRow>& near, const QString& where) {
  model_ = model;
  const EmbeddedModel& own = set.models[model];
  std::vector<SelectedToken> tokens;
  for (const NearRow& near_row : near) {
    const auto at = own.point_of_row.find(near_row.row);
    if (at == own.point_of_row.end()) continue;
    tokens.push_back(own.describe(at->second));
    tokens.back().note = QString::number(near_row.distance, 'f', 3);
  }
  const SelectedToken token = own.describe(point);
  title_->setText(u"<b>Nearest to %1</b> (sequence %2, position %3) %4: %5<b>%6</b>%7"_s
                      .arg(token.token.toHtmlEscaped())
                      .arg(token.sequence)
                      .arg(token.position)
                      .arg(where, token.sentence.before.toHtmlEscaped(),
                           token.sentence.token.toHtmlEscaped(),
                           token.sentence.after.toHtmlEscaped()));
  tokens_.setTokens(std::move(tokens), u"Distance"_s);
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_canvases.h"

#include <QGridLayout>
#include <QLabel>
#include <QToolTip>
#include <algorithm>
#include <optional>

#include "explorer/embeddings/embedding_canvas.h"
#include "explorer/embeddings/selected_token.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

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

}  // namespace

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

}  // namespace lime::explorer

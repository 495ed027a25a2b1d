// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/point_neighbours.h"

#include <algorithm>

#include "explorer/embeddings/embedding_canvases.h"
#include "explorer/embeddings/selected_token.h"
#include "explorer/embeddings/token_list.h"
#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kNeighbours = 12;

}  // namespace

PointNeighbours::PointNeighbours(EmbeddingCanvases& canvases, TokenList& list, JobRunner& jobs)
    : canvases_(canvases), list_(list), jobs_(jobs) {}

void PointNeighbours::select(const QString& label, const TokenSelection& token) {
  centre_ = Centre{label, token};
}

Json PointNeighbours::state() const {
  if (!centre_) return {};
  return {{"model", centre_->label.toStdString()}, {"token", tokensToJson(centre_->token)}};
}

void PointNeighbours::setState(const Json& state) {
  centre_.reset();
  if (state.is_null()) return;
  centre_ =
      Centre{toQString(state.at("model").get<std::string>()), tokensFromJson(state.at("token"))};
}

bool PointNeighbours::show(const EmbeddingSet& set, const std::string& site, int layer) {
  canvases_.removeCentre();
  if (!centre_) return false;
  const auto own = std::ranges::find(set.models, centre_->label, &EmbeddedModel::label);
  const std::vector<int> points = own == set.models.end() || canvases_.all().empty()
                                      ? std::vector<int>()
                                      : own->pointsOf(centre_->token);
  if (points.empty()) return false;
  find(set, static_cast<std::size_t>(own - set.models.begin()), points.front(), site, layer);
  return true;
}

void PointNeighbours::find(const EmbeddingSet& set, std::size_t model, int point,
                           const std::string& site, int layer) {
  const EmbeddedModel& own = set.models[model];
  if (!own.sentences) {
    draw(set, model, point, own.nearestDrawn(site, layer, point, kNeighbours),
         u"in the embedding"_s);
    return;
  }
  const std::int64_t row = own.points.row[static_cast<std::size_t>(point)];
  jobs_.start<std::vector<NearRow>>(
      this,
      {.title = u"Neighbours of a token"_s, .key = u"embeddings/neighbours"_s, .is_shown = false},
      [capture = own.sentences->sharedCapture(), site, layer, row,
       rows = own.points.row](const JobContext& context) {
        return nearest_rows(*capture, site, layer, row, rows, kNeighbours, context.stop);
      },
      [this, &set, model, point, centre = centre_](const std::vector<NearRow>& near) {
        // Something else may have been selected since.
        if (centre != centre_ || model >= canvases_.all().size()) return;
        draw(set, model, point, near, u"in the model, by distance of normalised rows"_s);
      },
      [this](const QString& error) { list_.showMessage(error); });
}

void PointNeighbours::draw(const EmbeddingSet& set, std::size_t model, int point,
                           const std::vector<NearRow>& near, const QString& where) {
  list_.showNeighbours(set, model, point, near, where);
  std::vector<int> neighbours;
  for (const SelectedToken& token : list_.tokens().rows()) neighbours.push_back(token.point);
  canvases_.setCentre(model, point, neighbours);
}

}  // namespace lime::explorer

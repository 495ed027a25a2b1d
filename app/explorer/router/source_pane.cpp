// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/source_pane.h"

#include <cmath>
#include <limits>

#include "analysis/router/source_maps.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

/// Selected tokens whose weights are averaged; more are read from the file one by one.
constexpr std::size_t kMostTokens = 1000;

std::optional<ModelConfig> configOf(const Document& document) {
  if (document.capture == nullptr) return std::nullopt;
  try {
    return parse_model_config(document.capture->config(), "");
  } catch (const Error&) {
    return std::nullopt;  // only Python knows the model
  }
}

int numSources(const MatrixD& shares, Eigen::Index row) {
  return static_cast<int>((shares.row(row).array() == shares.row(row).array()).count());
}

Figure figureOf(const MatrixD& shares, bool is_depth, int base) {
  const auto count = static_cast<int>(shares.rows());
  FigurePanel panel;
  panel.x = {.label = is_depth ? "output read" : "layer read",
             .ticks = layer_ticks(count, is_depth ? 0 : base)};
  panel.y = {.label = is_depth ? "part" : "layer", .ticks = panel.x.ticks};
  for (AxisTick& tick : panel.y.ticks) tick.at = count - 1 - tick.at;
  panel.content = HeatmapPanel{.values = shares.colwise().reverse(), .shows_numbers = count <= 9};
  Figure figure;
  figure.name = "router-sources";
  figure.panels = {std::move(panel)};
  figure.colour_label =
      fmt::format("fraction of the weight (uniform in the last row: 1/{0} = {1:.3f})",
                  numSources(shares, count - 1), 1.0 / numSources(shares, count - 1));
  return figure;
}

}  // namespace

SourcePane::SourcePane(Workspace& workspace, JobRunner& jobs)
    : FigurePane(u"sources of each input"_s),
      workspace_(workspace),
      rows_(workspace, jobs),
      cache_(jobs) {
  plot().setKeepsAspect(true);
  plot().setDescriber([this](const FigureHit& hit) { return describe(hit); });
  connect(&rows_, &CaptureRows::ready, this, &SourcePane::computed);
  connect(&cache_, &JobCacheSignals::changed, this, &SourcePane::computed);
}

bool SourcePane::isSource(const Document& document, bool with_plain) {
  const std::optional<ModelConfig> config = configOf(document);
  if (!config) return false;
  const std::string site = source_site(*config);
  if (site.empty()) return with_plain && config->routing == DepthRouting::kNone;
  const std::vector<std::string> sites = document.capture->sites();
  return std::find(sites.begin(), sites.end(), site) != sites.end();
}

void SourcePane::draw(const Document& document, int layer_base) {
  const ModelConfig config = *configOf(document);
  is_depth_ = source_site(config) != kRouteSite;
  layer_base_ = layer_base;
  const bool is_plain = config.routing == DepthRouting::kNone;
  Key key{document.capture, {}};
  if (!is_plain) key.second = rows_.find(document, workspace_.selection().tokens).rows;
  if (key.second.size() > kMostTokens) key.second.resize(kMostTokens);
  const QSignalBlocker quiet(&cache_);
  cache_.dropIf([&](const Key& one) {
    return one != key && (one.first != key.first || !one.second.empty());
  });
  cache_.request(key,
                 {.title = u"Reading the routing weights of %1"_s.arg(document.label),
                  .key = u"sources/%1"_s.arg(document.id),
                  .is_shown = false},
                 [key, config](const JobContext& context) {
                   return source_shares(*key.first, config, key.second, context.stop);
                 });
  const Answer<MatrixD>& answer = cache_.at(key);
  if (!answer.result) {
    show(std::nullopt,
         answer.problem.isEmpty() ? u"Reading the routing weights ..."_s : answer.problem);
    return;
  }
  shares_ = *answer.result;
  const std::size_t tokens = key.second.size();
  show(figureOf(shares_, is_depth_, layer_base), {},
       is_plain ? u"A plain transformer: each part reads the sum of all earlier outputs, 1/n each"_s
       : tokens == 0 ? u"What each part reads, mean over all tokens"_s
       : tokens == 1 ? u"What each part reads for the selected token"_s
                     : u"What each part reads, mean over %1 selected tokens"_s.arg(tokens),
       is_depth_ ? u"Part 2 l is the attention and 2 l + 1 the MLP of layer l, the last one the "
                   u"final norm. Output 0 is the embedding, 2 l + 1 and 2 l + 2 those of the "
                   u"attention and the MLP of layer l."_s
                 : u"Weights on the keys and values of each layer, averaged over heads"_s);
}

QString SourcePane::nameOf(int part, bool is_source) const {
  if (!is_depth_) return u"layer %1"_s.arg(part + layer_base_);
  if (is_source && part == 0) return u"the embedding"_s;
  const int place = is_source ? part - 1 : part;
  if (!is_source && part + 1 == shares_.rows()) return u"the final norm"_s;
  return (place % 2 == 0 ? u"the attention of layer %1"_s : u"the MLP of layer %1"_s)
      .arg(place / 2 + layer_base_);
}

QString SourcePane::describe(const FigureHit& hit) const {
  if (!hit.cell) return {};
  const int part = static_cast<int>(shares_.rows()) - 1 - hit.cell->row;
  if (part < 0 || hit.cell->col >= shares_.cols()) return {};
  const double share = shares_(part, hit.cell->col);
  if (std::isnan(share)) return {};
  const int sources = numSources(shares_, part);
  return u"%1 reads %2: %3, %4 x uniform (1/%5)"_s
      .arg(nameOf(part, false), nameOf(hit.cell->col, true))
      .arg(share, 0, 'f', 4)
      .arg(share * sources, 0, 'f', 2)
      .arg(sources);
}

}  // namespace lime::explorer

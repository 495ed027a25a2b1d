// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/source_pane.h"

#include "analysis/router/source_maps.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/parse_model_config.h"
#include "explorer/models/figures.h"
#include "explorer/router/router_figures.h"
#include "explorer/widgets/figure_view.h"
#include "store/capture_reader.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

/// Selected tokens whose weights are averaged; more are read from the file one by one.
constexpr std::size_t kMaxTokens = 1000;

std::optional<ModelConfig> configOf(const Document& document) {
  if (document.checkpoint) return document.checkpoint->config();
  if (document.capture == nullptr) return std::nullopt;
  try {
    return parse_model_config(document.capture->config(), "");
  } catch (const Error&) {
    return std::nullopt;  // only Python knows the model
  }
}

/// Returns the unrolled shares of a plain residual stream, which every part reads as a sum.
MatrixD plainShares(Eigen::Index layers) {
  const Eigen::Index parts = 2 * layers + 1;
  MatrixD shares = MatrixD::Constant(parts, parts, std::numeric_limits<double>::quiet_NaN());
  for (Eigen::Index part = 0; part < parts; ++part) {
    shares.row(part).head(part + 1).setConstant(1.0 / static_cast<double>(part + 1));
  }
  return shares;
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
  if (config->routing == DepthRouting::kNone) return with_plain;
  return document.capture && contains(document.capture->sites(), source_site(*config));
}

void SourcePane::draw(const Document& document, int layer_base) {
  const ModelConfig config = *configOf(document);
  layer_base_ = layer_base;
  const bool is_plain = config.routing == DepthRouting::kNone;
  is_depth_ = is_plain || source_site(config) != kRouteSite;
  Key key{document.capture, {}};
  if (!is_plain) key.second = rows_.find(document, workspace_.selection().tokens).rows;
  if (key.second.size() > kMaxTokens) key.second.resize(kMaxTokens);
  const QSignalBlocker quiet(&cache_);
  cache_.dropIf([&](const Key& item) {
    return item != key && (item.first != key.first || !item.second.empty());
  });
  if (!is_plain) {
    cache_.request(key,
                   {.title = u"Reading the routing weights of %1"_s.arg(document.label),
                    .key = u"sources/%1"_s.arg(document.id),
                    .is_shown = false},
                   [key, config](const JobContext& context) {
                     return source_shares(*key.first, config, key.second, context.stop);
                   });
  }
  const Answer<MatrixD>& answer = cache_.at(key);
  if (!is_plain && !answer.result) {
    show(std::nullopt,
         answer.problem.isEmpty() ? u"Reading the routing weights ..."_s : answer.problem);
    return;
  }
  shares_ = is_plain ? plainShares(config.num_hidden_layers) : *answer.result;
  const std::size_t tokens = key.second.size();
  show(sourcesFigure(shares_, is_depth_, layer_base), {},
       is_plain ? u"A plain transformer: each part reads the sum of all earlier outputs, 1/n each"_s
       : tokens == 0 ? u"Routing weights, averaged over all tokens"_s
       : tokens == 1 ? u"Routing weights of the selected token"_s
                     : u"Routing weights, averaged over %1 selected tokens"_s.arg(tokens),
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

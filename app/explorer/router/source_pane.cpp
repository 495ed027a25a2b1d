// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/source_pane.h"

#include "analysis/router/source_maps.h"
#include "analysis/router/written_norms.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/parse_model_config.h"
#include "explorer/models/capture_contents.h"
#include "explorer/models/figures.h"
#include "explorer/router/router_figures.h"
#include "explorer/widgets/figure_view.h"
#include "store/capture_reader.h"
#include "store/results/columns.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

/// Selected tokens whose weights are averaged; more are read from the file one by one.
constexpr std::size_t kMaxTokens = 1000;

/// Rows of each layer whose norms are measured: first some, then more.
constexpr std::int64_t kFirstWrittenRows = 128;
constexpr std::int64_t kWrittenRows = 2048;

std::optional<ModelConfig> configOf(const Document& document) {
  if (document.checkpoint) return document.checkpoint->config();
  if (document.capture == nullptr) return std::nullopt;
  try {
    return parse_model_config(document.capture->config(), "");
  } catch (const Error&) {
    return std::nullopt;  // only Python knows the model
  }
}

const QString kNothingWritten =
    u"A plain transformer has no router: each part reads the sum of all earlier outputs.\n\nTo see "
    u"what attention and MLP write to it, capture a text (Ctrl+T); to see what they cause, run a "
    u"text in Interventions, or open results of lime-capture sweep --over sublayers."_s;

}  // namespace

SourcePane::SourcePane(Workspace& workspace, JobRunner& jobs)
    : FigurePane(u"sources of each input"_s),
      workspace_(workspace),
      rows_(workspace, jobs),
      cache_(jobs),
      norms_(jobs) {
  plot().setKeepsAspect(true);
  plot().setDescriber([this](const FigureHit& hit) { return describe(hit); });
  connect(&rows_, &CaptureRows::ready, this, &SourcePane::computed);
  connect(&cache_, &JobCacheSignals::changed, this, &SourcePane::computed);
  connect(&norms_, &JobCacheSignals::changed, this, &SourcePane::computed);
}

bool SourcePane::isPlain(const Document& document) {
  const std::optional<ModelConfig> config = configOf(document);
  return config && config->routing == DepthRouting::kNone;
}

bool SourcePane::isSource(const Document& document, bool with_plain) {
  const std::optional<ModelConfig> config = configOf(document);
  if (!config) return false;
  if (config->routing == DepthRouting::kNone) return with_plain;
  return document.capture && document.capture->has(source_site(*config));
}

void SourcePane::draw(const Document& document, int layer_base) {
  const ModelConfig config = *configOf(document);
  layer_base_ = layer_base;
  plot().setKeepsAspect(config.routing != DepthRouting::kNone);
  if (config.routing == DepthRouting::kNone) return drawPlain(document);
  is_depth_ = source_site(config) != kRouteSite;
  Key key{document.capture, {}};
  key.second = rows_.find(document, workspace_.selection().tokens).rows;
  if (key.second.size() > kMaxTokens) key.second.resize(kMaxTokens);
  const QSignalBlocker quiet(&cache_);
  cache_.dropIf([&](const Key& item) {
    return item != key && (item.first != key.first || !item.second.empty());
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
  plot().linkAxes(workspace_, {});
  const std::size_t tokens = key.second.size();
  show(sourcesFigure(shares_, is_depth_, layer_base), {},
       tokens == 0   ? u"Routing weights, averaged over all tokens"_s
       : tokens == 1 ? u"Routing weights of the selected token"_s
                     : u"Routing weights, averaged over %1 selected tokens"_s.arg(tokens),
       is_depth_ ? u"Part 2 l is the attention and 2 l + 1 the MLP of layer l, the last one the "
                   u"final norm. Output 0 is the embedding, 2 l + 1 and 2 l + 2 those of the "
                   u"attention and the MLP of layer l."_s
                 : u"Weights on the keys and values of each layer, averaged over heads"_s);
}

const Document* SourcePane::captureOf(const Document& document) const {
  if (document.capture) return &document;
  for (const Document* const capture : workspace_.documentsOf(DocumentKind::kCapture)) {
    const bool is_whole = hasWholeSequences(*capture->capture);
    if (capture->colour == document.colour && is_whole && isPlain(*capture)) return capture;
  }
  return nullptr;
}

std::vector<FigureSource> SourcePane::sweepsOf(const Document& document) const {
  std::vector<FigureSource> sweeps;
  for (const Document* const results : workspace_.documentsOf(DocumentKind::kResults)) {
    if (results->results->results.metric != "sweep") continue;
    FigureSource own = *results->results;
    std::erase_if(own.results.rows, [&](const ResultRow& row) {
      const std::string& part = row.text(col::kPart);
      const bool is_part = part == "attention" || part == "mlp" || part == "layer";
      return !is_part || workspace_.colourOf(toQString(row.text(col::kLabel))) != document.colour;
    });
    if (!own.results.rows.empty() && sweeps.empty()) sweeps.push_back(std::move(own));
  }
  return sweeps;
}

void SourcePane::drawPlain(const Document& document) {
  shares_ = {};
  const Document* const capture = captureOf(document);
  std::shared_ptr<const WrittenNorms> norms;
  QString problem;
  const QSignalBlocker quiet(&norms_);
  norms_.dropIf([this](const auto& reader) { return !workspace_.isOpen(reader); });
  if (capture != nullptr) {
    norms_.requestInParts(
        capture->capture,
        {.title = u"Norms of the parts of %1"_s.arg(capture->label),
         .key = u"written/%1"_s.arg(capture->id),
         .is_shown = false},
        [reader = capture->capture](const JobContext& context, const auto& publish) {
          const auto measure = [&](std::int64_t rows) {
            return std::make_shared<const WrittenNorms>(written_norms(*reader, rows, context.stop));
          };
          if (reader->num_rows() > kFirstWrittenRows) publish(measure(kFirstWrittenRows));
          return measure(kWrittenRows);
        });
    const auto& answer = norms_.at(capture->capture);
    norms = answer.result.value_or(nullptr);
    problem = answer.job != 0 ? u"Reading what each part writes ..."_s : answer.problem;
  }
  FigureOrMessage drawn = writtenFigure(norms.get(), sweepsOf(document), layer_base_);
  if (drawn.figure) {
    colourParts(*drawn.figure, modelColour(workspace_.colourOf(document.label)));
  }
  const QString message = problem.isEmpty() ? kNothingWritten : problem;
  show(std::move(drawn.figure), message,
       u"What attention and MLP write to the residual stream of a plain transformer"_s,
       u"Median over at most %1 tokens of the norm of what each part adds, beside the norm of "
       u"the stream itself. The change in loss without each part is from results of lime-capture "
       u"sweep --over sublayers. A part may write little and matter, or the reverse"_s.arg(
           kWrittenRows));
  plot().linkAllPanels(workspace_, u"layer"_s, -layer_base_);
}

QString SourcePane::describe(const FigureHit& hit) const {
  if (shares_.size() == 0) {
    return describeCurvePoint(plot().figure(), hit,
                              hit.panel == 0 ? u"norm"_s : u"change in loss"_s);
  }
  if (!hit.cell) return {};
  const int part = static_cast<int>(shares_.rows()) - 1 - hit.cell->row;
  return describeShare(shares_, is_depth_, layer_base_, part, hit.cell->col);
}

}  // namespace lime::explorer

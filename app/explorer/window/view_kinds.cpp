// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/view_kinds.h"

#include <algorithm>

#include "explorer/collapse/collapse_view.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/probes/probe_question.h"
#include "explorer/probes/probes_view.h"
#include "explorer/results/results_view.h"
#include "explorer/router/router_view.h"
#include "explorer/text/text_view.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

/// Makes a view, for ViewKind::make.
template <typename Page> View* makeView(const ViewContext& context) { return new Page(context); }

/// Returns whether a document has results of one of `metrics`.
bool hasMetric(const Document& document, const std::vector<std::string>& metrics) {
  return document.results && contains(metrics, document.results->results.metric);
}

bool isCapture(const Document& document) { return document.capture != nullptr; }
bool isResults(const Document& document) { return document.results != nullptr; }
bool noDocument(const Document& /*document*/) { return false; }

bool hasEmbeddings(const Document& document) {
  return isCapture(document) || hasMetric(document, {"tsne"});
}

bool hasClasses(const Document& document) {
  return hasMetric(document, {"separability", "blimp"}) ||
         (isCapture(document) && (canProbe(*document.capture, ProbeQuestion::kBlimp) ||
                                  canProbe(*document.capture, ProbeQuestion::kSeparability)));
}

}  // namespace

QString explanationOf(Need need) {
  switch (need) {
    case Need::kCheckpoint:
      return u"This view shows checkpoints: folders with config.json and weights."_s;
    case Need::kCapture:
      return u"This view needs a capture: the activations of a checkpoint on a text."_s;
    case Need::kSequences:
      return u"This view needs a capture of whole sequences: the activations of a checkpoint on a "
             "text."_s;
    case Need::kWords:
      return u"This view needs a capture of tokens with classes: a few words of a text."_s;
    case Need::kResults:
      return u"This view shows results of lime-metrics, which measures captures of a text."_s;
  }
  return {};
}

bool needsCapture(Need need) {
  switch (need) {
    case Need::kCheckpoint: return false;
    case Need::kCapture:
    case Need::kSequences:
    case Need::kWords:
    case Need::kResults: return true;
  }
  return false;
}

const std::vector<ViewKind>& allViews() {
  static const std::vector<ViewKind> views = {
      {u"router"_s,
       u"Router"_s,
       u"Which layers and heads do the routers read, and how strongly?"_s,
       Need::kCheckpoint,
       [](const Document& document) { return document.checkpoint != nullptr; },
       RouterView::hasRouters,
       makeView<RouterView>,
       {u"Each cell is the fraction of a layer's router weight on one buffered layer: the keys and "
        u"values that this or an earlier layer computed. Buffered layer 0 is projected from the "
        u"embeddings, and a uniform router gives each of the n layers that it can read "
        u"1/n."_s,
        u"M<sub>l,l'</sub> = &Sigma;<sub>h,h'</sub> |R<sub>l</sub>[h, (l', h')]| / its sum over l'"_s,
        u"|R| is not scale-invariant: multiplying W<sub>K</sub> and W<sub>V</sub> of a buffered "
        u"head by c and dividing its router columns by c changes the map but not the model. Maps "
        u"weighted by the size of keys or values are invariant."_s,
        u"router.md"_s,
        u"The maps"_s,
        {"`router`"}}},
      {u"collapse"_s,
       u"Collapse"_s,
       u"In which layers do the representations collapse, and why?"_s,
       Need::kCapture,
       isCapture,
       isCapture,
       makeView<CollapseView>,
       {u"The table names the cause of each range of layers: massive tokens, outlier dimensions, a "
        u"common direction, or a collapse of what remains without them. The matrix-based entropy "
        u"of a sequence is near 0 if all its tokens lie on one line, and reaches the ceiling if "
        u"they spread evenly over all directions (bands: 95% bootstrap intervals over sequences)."_s,
        u"K = Z Z<sup>T</sup> / tr(Z Z<sup>T</sup>), S<sub>&alpha;</sub> = log(&Sigma;<sub>i</sub> "
        u"&lambda;<sub>i</sub>(K)<sup>&alpha;</sup>) / (1 &minus; &alpha;)"_s,
        u"Entropies of different texts, presets or orders are not comparable. A lower entropy need "
        u"not lose information: probe the same layer."_s,
        u"collapse.md"_s,
        {},
        {"`collapse`", "`entropy`, preset `lime-code`"}}},
      {u"embeddings"_s,
       u"Embeddings"_s,
       u"Which tokens are close to each other, and in which layers?"_s,
       Need::kCapture,
       hasEmbeddings,
       hasEmbeddings,
       makeView<EmbeddingsView>,
       {u"Each point is a token of one layer; t-SNE places tokens with similar representations "
        u"close to each other. Each layer is rotated and scaled to match the previous one."_s,
        u"minimise KL(P || Q), q<sub>ij</sub> &prop; (1 + |y<sub>i</sub> &minus; "
        u"y<sub>j</sub>|<sup>2</sup>)<sup>&minus;1</sup>"_s,
        u"Sizes of clusters and distances between them have no meaning, and another perplexity or "
        u"seed gives another plot."_s,
        u"tsne.md"_s,
        {},
        {"`tsne`"}}},
      {u"probes"_s,
       u"Probes"_s,
       u"What is linearly decodable from each layer?"_s,
       Need::kWords,
       hasClasses,
       hasClasses,
       makeView<ProbesView>,
       {u"A linear classifier is trained on the representations of each layer and tested on a "
        u"held-out fold. Accuracy above the baseline shows that the property is "
        u"linearly decodable in that layer."_s,
        u"p(c | x) = softmax(W x + b)<sub>c</sub>"_s,
        u"Decodable does not mean used: the model may ignore what a probe finds. Compare with "
        u"control labels."_s,
        u"separability.md"_s,
        {},
        {"`separability`"}}},
      {u"text"_s,
       u"Text"_s,
       u"How does each token change from layer to layer, and what does it attend to?"_s,
       Need::kSequences,
       TextView::shows,
       TextView::shows,
       makeView<TextView>,
       {u"Colours show one value per token and layer, such as the drop in the sequence's entropy "
        u"if the token is removed. The attention tab shows which keys a head reads, and from which "
        u"buffered layer."_s,
        u"contribution of token t = S(Z) &minus; S(Z without row t)"_s,
        u"Attention weights show what is mixed, not what changes the prediction."_s,
        u"attention.md"_s,
        {},
        {"`attention`", "`lens`"}}},
      {u"interventions"_s,
       u"Interventions"_s,
       u"How do the predictions change without a layer, a head or a route?"_s,
       Need::kCheckpoint,
       InterventionsView::shows,
       noDocument,
       makeView<InterventionsView>,
       {u"The text is scored twice, by the original model and with some of its parts or routes "
        u"skipped or scaled. What can be removed without changing the loss is not needed for this "
        u"text."_s,
        u"&Delta; loss = mean over t of log p(x<sub>t</sub> | x<sub>&lt;t</sub>) &minus; "
        u"log p<sub>edited</sub>(x<sub>t</sub> | x<sub>&lt;t</sub>)"_s,
        u"Other parts may compensate for a removed one, so effects of several edits need not add "
        u"up."_s,
        u"explorer.md"_s, u"Interventions"_s}},
      {u"results"_s,
       u"Results"_s,
       u"How do the results look as figures of a paper?"_s,
       Need::kResults,
       isResults,
       isResults,
       makeView<ResultsView>,
       {u"Each figure is drawn by a recipe of lime-figure from the open results of one metric. The "
        u"note below it states what bands, error bars and stars are."_s,
        u"difference = model &minus; baseline, paired by sequence, fold or pair"_s,
        u"Results of different texts are not comparable. With many sequences small differences "
        u"have stars: judge a difference by its size."_s,
        u"figures.md"_s}},
  };
  return views;
}

int indexOfView(const QString& id) {
  const auto found = std::ranges::find(allViews(), id, &ViewKind::id);
  return found == allViews().end() ? -1 : static_cast<int>(found - allViews().begin());
}

}  // namespace lime::explorer

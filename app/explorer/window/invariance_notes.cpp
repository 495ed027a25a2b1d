// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/invariance_notes.h"

#include <algorithm>

namespace lime::explorer {
namespace {

/// Returns Markdown with code in backticks as HTML.
QString htmlOf(std::string_view markdown) {
  QString html;
  bool is_code = false;
  const QString text = toQString(markdown).toHtmlEscaped().replace(u"\\|"_s, u"|"_s);
  for (const QChar c : text) {
    if (c != u'`') {
      html += c;
      continue;
    }
    html += is_code ? u"</code>"_s : u"<code>"_s;
    is_code = !is_code;
  }
  return html;
}

}  // namespace

const std::vector<InvarianceNote>& invarianceNotes() {
  static const std::vector<InvarianceNote> notes = {
      {"`entropy`, preset `lime-code`",
       "moves with rotations: of values a little, of `hidden` with massive tokens by half of its "
       "value",
       "use it on values; on `hidden` use `raw`"},
      {"`entropy`, presets `raw`, `seq-vcr`, `matrix-entropy`; `diff-erank` is the exponential of "
       "the last",
       "invariant on `hidden`, `hook_attn_out`, `hook_mlp_out`; values, keys and MLP units move "
       "with their scale",
       "measure values as `hook_attn_out`, or with both `raw` and `lime-code`"},
      {"`entropy`, preset `layer-by-layer`",
       "as `raw` for sequences of at most as many tokens as dimensions. With more, its code sets "
       "negative elements of the D x D matrix to 0, which depends on the coordinates: a rotation "
       "moves it by a tenth of its value and more",
       "use sequences shorter than D, or `matrix-entropy`"},
      {"`geometry`: ranks, cosine similarity, rank-one residual, curvature, first token, "
       "`power-law`, `dimension`",
       "as the entropy with `raw`", "the same"},
      {"`geometry`: `massive_share`, `massive_token_share`, `largest_to_median`, "
       "`rank_one_residual_1inf`",
       "move with rotations",
       "name the coordinates, or use `first_norm_ratio` and `rank_one_residual`"},
      {"`similarity`: CKA, Procrustes, neighbours", "as the entropy with `raw`",
       "use them on the stream"},
      {"`similarity`: `influence`, `angle`",
       "invariant in the stream; elsewhere they compare coordinates that have no relation",
       "use them on the stream only"},
      {"`collapse`",
       "the largest ratio of norms, participation and entropy of all rows are invariant; outlier "
       "dimensions move with rotations, and which rows are massive is also decided without them",
       "a verdict \"outlier dimensions\" is about the basis that training chose"},
      {"`separability`",
       "invariant to scales, since dimensions are standardised; with a penalty, a rotation changes "
       "which weights are cheap",
       "compare accuracies of one site and one convention"},
      {"`tsne`", "as CKA; the optimisation adds changes of its own", "use it on the stream"},
      {"`views`", "as the entropy with `raw`", "the same"},
      {"`attention`", "invariant; head indices are arbitrary",
       "compare heads by their measurements"},
      {"`lens`", "invariant", ""},
      {"`router`", "\\|R\\| moves with `route-scale`; weighted by values it is invariant",
       "weight by values"},
      {"`experts`, `streams`", "invariant; indices of experts and streams are arbitrary", ""},
      {"`blimp` zero-shot, `lime-eval`, `choices`",
       "functions of the logits: invariant. Probes as `separability`", ""},
      {"`lime-capture sweep`",
       "effects and attributions of zeroed heads, layers and routes are invariant; head indices "
       "are arbitrary",
       "`project` needs a direction in the coordinates of the checkpoint"},
      {"`counterfactual`",
       "entropy and rank as `lime-code` on values: `value-rotation` moves them by at most 0.2 "
       "half-widths on `data/lm-lime`. Random and permuted routers are drawn by head index",
       "compare the routers with each other"},
      {"`series`, `correlates`",
       "as the measurement that they follow. Steps of one training run share their coordinates, "
       "other runs do not",
       "correlate over models with invariant measurements"},
  };
  return notes;
}

QString invarianceHtml(const std::vector<std::string>& measurements) {
  QString html;
  for (const std::string& measurement : measurements) {
    const auto note =
        std::ranges::find(invarianceNotes(), measurement, &InvarianceNote::measurement);
    if (note == invarianceNotes().end()) continue;
    html += u"<p>%1: %2"_s.arg(htmlOf(note->measurement), htmlOf(note->weights));
    if (!note->advice.empty()) html += u". %1"_s.arg(htmlOf(note->advice));
    html += u".</p>"_s;
  }
  return html;
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/pinned_layers.h"

#include <algorithm>
#include <numeric>

#include "analysis/lens/lens_analysis.h"
#include "analysis/tsne/nearest_rows.h"
#include "explorer/models/found_tokenizer.h"
#include "explorer/models/sentence_reader.h"
#include "store/lens_row.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kNear = 5;

QString quoted(QString text) { return u"'%1'"_s.arg(text.replace(u'\n', u"\\n"_s)); }

QString nearText(const PinnedLayer& layer) {
  QStringList texts;
  for (const NearToken& token : layer.near) texts << quoted(token.text);
  return texts.isEmpty() ? u"..."_s : texts.join(u"  "_s);
}

QString nearToolTip(const PinnedLayer& layer) {
  QStringList lines;
  for (const NearToken& token : layer.near) {
    lines << u"%1  sequence %2, position %3, distance %4"_s.arg(quoted(token.text))
                 .arg(token.sequence)
                 .arg(token.position)
                 .arg(token.distance, 0, 'f', 3);
  }
  return lines.join(u'\n');
}

QString lensWord(const PinnedLayersRequest& request, const SentenceReader& reader, int layer,
                 std::int64_t row) {
  const CaptureReader& capture = *request.capture;
  if (!capture.has(kLensSite, layer)) return {};
  const MatrixF lens = capture.read_rows(kLensSite, layer, row, 1);
  // The last token has no rank, but a word.
  if (lens.cols() < kLensSize) return {};  // of an earlier version
  if (lens(0, lens_column::kEntropy) == 0.0F && lens(0, lens_column::kRank) == 0.0F) return {};
  const auto id = static_cast<std::int64_t>(lens(0, lens_column::kTokenHigh)) * kLensIdBase +
                  static_cast<std::int64_t>(lens(0, lens_column::kTokenLow));
  return reader.tokenText(static_cast<std::int32_t>(id));
}

}  // namespace

PinnedLayersModel::PinnedLayersModel() {
  using One = const PinnedLayer&;
  setTable(
      {{.title = u"Layer"_s, .text = [](One row) { return row.shown_layer; }, .is_number = true},
       {.title = u"Lens"_s,
        .text = [](One row) { return row.lens_word.isEmpty() ? QString() : quoted(row.lens_word); },
        .help = u"Most probable next token by the logit lens"_s},
       {.title = u"Nearest tokens"_s,
        .text = nearText,
        .help = u"Tokens of the capture whose activations are nearest, by the distance of rows "
                u"of length 1"_s,
        .tool_tip = nearToolTip}},
      {});
}

std::vector<PinnedLayer> readPinnedLayers(
    const PinnedLayersRequest& request, const JobContext& context,
    const std::function<void(std::vector<PinnedLayer>)>& publish) {
  const CaptureReader& capture = *request.capture;
  const SentenceReader reader(request.capture,
                              findTokenizer(capture, request.checkpoints).tokenizer);
  const std::int64_t row =
      capture.offsets()[static_cast<std::size_t>(request.sequence)] + request.token;
  std::vector<PinnedLayer> layers;
  for (const int layer : capture.layers(request.site)) {
    layers.push_back({.layer = layer, .lens_word = lensWord(request, reader, layer, row)});
  }
  std::vector<std::size_t> order(layers.size());
  std::iota(order.begin(), order.end(), 0);
  const int first = request.first_layer.value_or(layers.empty() ? 0 : layers.back().layer);
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::abs(layers[i].layer - first); });
  std::vector<std::int64_t> candidates(
      static_cast<std::size_t>(std::min(kNearCandidates, capture.num_rows())));
  std::iota(candidates.begin(), candidates.end(), 0);
  const RowTable& rows = capture.rows();
  std::int64_t done = 0;
  for (const std::size_t i : order) {
    if (publish) publish(layers);
    if (context.on_progress) context.on_progress({done++, std::ssize(layers), ""});
    for (const NearRow& near : nearest_rows(capture, request.site, layers[i].layer, row, candidates,
                                            kNear, context.stop)) {
      const auto at = static_cast<std::size_t>(near.row);
      const bool is_first =
          near.row == capture.offsets()[static_cast<std::size_t>(rows.sequence[at])];
      const QString before = is_first ? QString() : reader.tokenText(rows.token[at - 1]);
      layers[i].near.push_back({.text = before + reader.tokenText(rows.token[at]),
                                .sequence = rows.sequence[at],
                                .position = rows.position[at],
                                .distance = near.distance});
    }
  }
  return layers;
}

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_subject.h"

#include <algorithm>

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

QString layerName(const RouterDisplay& display, int layer) {
  return u"layer %1"_s.arg(layer + display.layer_base);
}

/// Returns the name of a buffered layer: the first one is projected from the embeddings.
QString sourceName(const RouterDisplay& display, int layer) {
  return layerName(display, layer) + (layer == 0 ? u" (embeddings)"_s : QString());
}

}  // namespace

QString weightText(double value) { return QString::number(value, 'f', 4); }

RouterQuantity RouterDisplay::quantity() const {
  if (is_signed) return signedQuantity();
  return is_normalised ? RouterQuantity::kShare : RouterQuantity::kMagnitude;
}

RouterQuantity RouterDisplay::signedQuantity() const {
  return is_normalised ? RouterQuantity::kSignedShare : RouterQuantity::kSigned;
}

QString describeSource(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       std::optional<int> head, int source_layer) {
  const auto valuesIn = [&](const CheckpointRouters& routers, RouterQuantity quantity) {
    const MatrixD values = router_head_values(routers.routers(), layer, quantity);
    return head ? MatrixD(values.row(*head)) : MatrixD(values.colwise().mean());
  };
  const auto shareIn = [&](const CheckpointRouters& routers) {
    const MatrixD magnitudes = valuesIn(routers, RouterQuantity::kMagnitude);
    return magnitudes(0, source_layer) / std::max(magnitudes.sum(), 1e-300);
  };
  const MatrixD magnitudes = valuesIn(*subject.routers, RouterQuantity::kMagnitude);
  const double weight = valuesIn(*subject.routers, RouterQuantity::kSigned)(0, source_layer);
  const double share = shareIn(*subject.routers);
  const auto count = static_cast<double>(magnitudes.cols());
  QString reader = layerName(display, layer);
  if (head) reader += u", head %1"_s.arg(*head + display.layer_base);
  QString text =
      u"%1 reads %2: fraction %3, %4 times uniform (1/%5 = %6); signed weight %7, rank "
      u"%8 of %5 layers"_s
          .arg(reader, sourceName(display, source_layer), weightText(share),
               QString::number(share * count, 'f', 2))
          .arg(magnitudes.cols())
          .arg(weightText(1.0 / count), weightText(weight))
          .arg((magnitudes.array() > magnitudes(0, source_layer)).count() + 1);
  if (subject.minus != nullptr) {
    text += u"; fraction in the other checkpoint %1"_s.arg(weightText(shareIn(*subject.minus)));
  }
  return text;
}

QString describeWeight(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       int head, int source_layer, int source_head) {
  const RouterWeight weight = subject.routers->weight(layer, head, source_layer, source_head);
  QString text = u"%1, head %2 reads %3, head %4: weight %5, fraction %6, rank %7 of %8 sources"_s
                     .arg(layerName(display, layer))
                     .arg(head + display.layer_base)
                     .arg(sourceName(display, source_layer))
                     .arg(source_head + display.layer_base)
                     .arg(weightText(weight.weight), weightText(weight.share))
                     .arg(weight.rank)
                     .arg(weight.num_sources);
  if (subject.minus != nullptr) {
    const RouterWeight other = subject.minus->weight(layer, head, source_layer, source_head);
    text += u"; weight in the other checkpoint %1"_s.arg(weightText(other.weight));
  }
  return text;
}

Selection completed(const Selection& selection, const CheckpointRouters& routers) {
  Selection whole = selection;
  const int layers = static_cast<int>(routers.num_layers());
  const int heads = static_cast<int>(routers.num_heads());
  const int layer = std::clamp(selection.layer.value_or(layers - 1), 0, layers - 1);
  whole.layer = layer;
  whole.head = std::clamp(selection.head.value_or(0), 0, heads - 1);
  if (selection.source_layer) {
    whole.source_layer = std::clamp(*selection.source_layer, 0, layer);
  } else {
    Index strongest = 0;
    router_head_values(routers.routers(), layer, RouterQuantity::kMagnitude)
        .colwise()
        .sum()
        .maxCoeff(&strongest);
    whole.source_layer = static_cast<int>(strongest);
  }
  if (selection.source_head) whole.source_head = std::clamp(*selection.source_head, 0, heads - 1);
  return whole;
}

}  // namespace lime::explorer

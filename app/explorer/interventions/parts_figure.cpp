// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/parts_figure.h"

#include <cmath>
#include <limits>

#include "store/results/columns.h"

namespace lime::explorer {
namespace {

constexpr int kFirstHeadColumn = 2;  // attention, MLP, then heads

QString signedNats(double value) {
  return (value < 0.0 ? QString(QChar(0x2212)) : u"+"_s) + QString::number(std::abs(value), 'f', 4);
}

/// Writes the effects of the parts that a sweep measured into a map of them.
void addEffects(const Results* sweep, MatrixD& values) {
  if (sweep == nullptr) return;
  for (const ResultRow& row : sweep->rows) {
    const std::optional<PartEdit> part = partOf(row);
    if (!part || part->part == DecoderPart::kLayer) continue;
    const int column = columnOf(*part);
    if (part->layer < values.rows() && column < values.cols()) {
      values(part->layer, column) = row.number(col::kEffect);
    }
  }
}

}  // namespace

PartEdit partAt(int layer, int column) {
  if (column >= kFirstHeadColumn) {
    return {.part = DecoderPart::kHead, .layer = layer, .head = column - kFirstHeadColumn};
  }
  return {.part = column == 0 ? DecoderPart::kAttention : DecoderPart::kMlp, .layer = layer};
}

int columnOf(const PartEdit& part) {
  if (part.part == DecoderPart::kHead) return kFirstHeadColumn + part.head;
  return part.part == DecoderPart::kMlp ? 1 : 0;
}

Figure partsFigure(const std::vector<PartEdit>& edits, int num_layers, int num_heads,
                   const Results* sublayers, const Results* heads, int layer_base) {
  const bool is_measured = sublayers != nullptr || heads != nullptr;
  HeatmapPanel map;
  map.values = MatrixD::Constant(num_layers, kFirstHeadColumn + num_heads,
                                 is_measured ? std::numeric_limits<double>::quiet_NaN() : 1.0);
  map.is_signed = true;  // of scales, 1 is neutral
  map.col_borders = {1, kFirstHeadColumn};
  addEffects(sublayers, map.values);
  addEffects(heads, map.values);
  for (const PartEdit& edit : edits) {
    const bool is_layer = edit.part == DecoderPart::kLayer;
    for (int column = columnOf(edit); column <= (is_layer ? 1 : columnOf(edit)); ++column) {
      if (!is_measured) map.values(edit.layer, column) = edit.scale;
      map.marks.push_back({edit.layer, column, edit.scale == 0.0});
    }
  }
  FigurePanel panel{.title = {}, .x = {}, .y = {.label = "layer"}, .content = {}};
  panel.x.ticks = {{0.0, "attn"}, {1.0, "MLP"}};
  for (int head = 0; head < num_heads; ++head) {
    panel.x.ticks.push_back(
        {static_cast<double>(kFirstHeadColumn + head), std::to_string(head + layer_base)});
  }
  panel.x.label = "part, or head of attention";
  const int step = std::max(1, (num_layers + 11) / 12);
  for (int layer = 0; layer < num_layers; layer += step) {
    panel.y.ticks.push_back({static_cast<double>(layer), std::to_string(layer + layer_base)});
  }
  panel.content = std::move(map);
  Figure figure;
  figure.name = "parts-edited";
  figure.colour_label = is_measured ? "change in loss without it (nats per token)" : "scale";
  if (!is_measured) figure.colour_range = {0.0, 2.0};
  figure.panels.push_back(std::move(panel));
  return figure;
}

std::optional<PartEdit> partOf(const ResultRow& row) {
  const auto part = find_enum<DecoderPart>(row.text(col::kPart));
  if (!part || !row.has(col::kLayer)) return std::nullopt;
  return PartEdit{.part = *part,
                  .layer = static_cast<int>(row.integer(col::kLayer)),
                  .head = row.has(col::kHead) ? static_cast<int>(row.integer(col::kHead)) : 0};
}

const ResultRow* sweptPart(const Results& sweep, const PartEdit& part) {
  const auto found = std::ranges::find_if(sweep.rows, [&](const ResultRow& row) {
    const std::optional<PartEdit> swept = partOf(row);
    return swept && swept->names_same_as(part);
  });
  return found == sweep.rows.end() ? nullptr : &*found;
}

QString describePart(const ResultRow& row, const PartEdit& part, int layer_base) {
  QString text = u"without %1: loss %2 nats per token"_s.arg(partText(part, layer_base),
                                                             signedNats(row.number(col::kEffect)));
  if (std::isnan(row.number(col::kEffect.low))) return text;
  return text + u" [%1, %2]"_s.arg(signedNats(row.number(col::kEffect.low)),
                                   signedNats(row.number(col::kEffect.high)));
}

}  // namespace lime::explorer

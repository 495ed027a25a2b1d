// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/surgery_figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/edited_routers.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

constexpr int kMostTicks = 16;
constexpr Index kMostNumbers = 32;  // cells that have their values written into them

/// Whether no edit, some, or only switching off holds for all of `scales`.
enum class EditState { kNone, kSome, kOff };

EditState stateOf(const Eigen::Ref<const MatrixD, 0, Eigen::OuterStride<>>& scales) {
  if ((scales.array() == 0.0).all()) return EditState::kOff;
  return (scales.array() == 1.0).all() ? EditState::kNone : EditState::kSome;
}

void mark(MapPanel& panel, int row, int col, EditState state) {
  if (state == EditState::kNone) return;
  panel.marks.push_back({row, col, state == EditState::kOff});
}

/// "was 0.1234" where an edit has changed it.
QString wasText(double edited, double trained) {
  if (edited == trained) return QStringLiteral("as trained");
  return QStringLiteral("was %1").arg(weightText(trained));
}

}  // namespace

RouterMap editedLayerMap(const EditedSubject& subject, int layer_base) {
  RouterLook look;
  look.is_signed = true;
  look.is_normalised = false;
  look.layer_base = layer_base;
  const MatrixD& trained = subject.trained->layer_values(RouterQuantity::kSigned);
  const Index later = std::max<Index>(trained.rows() - 1, 1);  // layer 0 has nothing to choose
  RouterMap map =
      layerMap({subject.edited, nullptr}, look, largestMagnitude(trained.bottomRows(later)));
  map.figure.name = "router-edited";
  map.figure.colour_label = "R, sum over buffered heads";
  const Index heads = subject.trained->num_heads();
  auto& panel = std::get<MapPanel>(map.figure.panels.front().content);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const int layer = map.rows[row];
    const bool is_edited = std::any_of(
        subject.edits->begin(), subject.edits->end(),
        [layer](const RouterEdit& edit) { return edit.layer.value_or(layer) == layer; });
    if (!is_edited) continue;
    const MatrixD scales = edit_scales(*subject.edits, layer, heads);
    for (int source = 0; source <= layer; ++source) {
      mark(panel, static_cast<int>(row), source, stateOf(scales.middleCols(source * heads, heads)));
    }
  }
  return map;
}

RouterMap editedWeightMap(const EditedSubject& subject, int layer, int layer_base) {
  const Index heads = subject.trained->num_heads();
  const auto at = static_cast<std::size_t>(layer);
  const MatrixD& edited = subject.edited->routers().weights[at];
  const MatrixD& trained = subject.trained->routers().weights[at];
  const MatrixD scales = edit_scales(*subject.edits, layer, heads);
  RouterMap map;
  map.rows.resize(static_cast<std::size_t>(heads));
  std::iota(map.rows.rbegin(), map.rows.rend(), 0);  // head 0 stands at the top
  map.cols.resize(static_cast<std::size_t>(edited.cols()));
  std::iota(map.cols.begin(), map.cols.end(), 0);
  map.values = edited.colwise().reverse();

  MapPanel panel;
  panel.values = map.values;
  panel.is_signed = true;
  panel.shows_numbers = edited.size() <= kMostNumbers;
  for (Index row = 0; row < heads && !subject.edits->empty(); ++row) {
    for (Index col = 0; col < edited.cols(); ++col) {
      mark(panel, static_cast<int>(heads - 1 - row), static_cast<int>(col),
           stateOf(scales.block(row, col, 1, 1)));
    }
  }
  FigurePanel drawn;
  const int step = (layer + kMostTicks) / kMostTicks;
  for (int source = 0; source <= layer; ++source) {
    if (source > 0) panel.col_borders.push_back(static_cast<int>(source * heads));
    if (source % step != 0) continue;
    const double middle =
        static_cast<double>(source * heads) + 0.5 * static_cast<double>(heads - 1);
    drawn.x.ticks.push_back({middle, std::to_string(source + layer_base)});
  }
  for (int head = 0; head < heads;
       head += static_cast<int>((heads + kMostTicks - 1) / kMostTicks)) {
    drawn.y.ticks.push_back({static_cast<double>(heads - 1 - head), std::to_string(head)});
  }
  drawn.x.label = "heads of buffered layer";
  drawn.y.label = "head of layer " + std::to_string(layer + layer_base);
  drawn.content = std::move(panel);
  map.figure.panels = {std::move(drawn)};
  map.figure.name = "router-edited-layer";
  map.figure.colour_label = "R";
  const double end = std::max(largestMagnitude(trained), 1e-12);
  map.figure.colour_range = std::pair(-end, end);
  map.figure.is_wide = true;
  map.figure.panel_aspect = static_cast<double>(heads) / static_cast<double>(edited.cols());
  return map;
}

QString describeEditedLayer(const EditedSubject& subject, int layer_base, int layer,
                            int source_layer) {
  const auto valueOf = [&](const RouterExploration& routers) {
    return routers.layer_values(RouterQuantity::kSigned)(layer, source_layer);
  };
  const double edited = valueOf(*subject.edited);
  return QStringLiteral("layer %1 reads layer %2: signed weight %3, %4")
      .arg(layer + layer_base)
      .arg(source_layer + layer_base)
      .arg(weightText(edited), wasText(edited, valueOf(*subject.trained)));
}

QString describeEditedWeight(const EditedSubject& subject, int layer_base, int layer, int head,
                             int source_layer, int source_head) {
  const RouterWeight trained = subject.trained->weight(layer, head, source_layer, source_head);
  const double edited = subject.edited->weight(layer, head, source_layer, source_head).weight;
  return QStringLiteral(
             "head %1 of layer %2 reads head %3 of layer %4: weight %5, %6; as trained rank %7 of "
             "%8 sources")
      .arg(head)
      .arg(layer + layer_base)
      .arg(source_head)
      .arg(source_layer + layer_base)
      .arg(weightText(edited), wasText(edited, trained.weight))
      .arg(trained.rank)
      .arg(trained.num_sources);
}

}  // namespace lime::explorer

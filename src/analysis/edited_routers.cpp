// SPDX-License-Identifier: Apache-2.0
#include "analysis/edited_routers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lime {
namespace {

/// First place and number of those that an edit names out of `size`.
struct NamedRange {
  Eigen::Index first = 0;
  Eigen::Index count = 0;
};

NamedRange named(const std::optional<std::int64_t>& place, std::int64_t size) {
  if (!place) return {0, size};
  return *place < size ? NamedRange{*place, 1} : NamedRange{};
}

/// Calls `scale(block)` for every block of a layer's [kv_heads, (layer + 1) * kv_heads] that the
/// edit names, one per buffered layer.
template <typename Scale>
void for_each_block_of(const RouterEdit& edit, MatrixD& matrix, std::int64_t layer,
                       const Scale& scale) {
  if (layer == 0 || edit.layer.value_or(layer) != layer) return;
  const std::int64_t heads = matrix.rows();
  const NamedRange rows = named(edit.head, heads);
  const NamedRange sources = named(edit.source, layer + 1);
  const NamedRange cols = named(edit.source_head, heads);
  for (Eigen::Index source = sources.first; source < sources.first + sources.count; ++source) {
    scale(matrix.block(rows.first, source * heads + cols.first, rows.count, cols.count));
  }
}

void scale_layer(const std::vector<RouterEdit>& edits, MatrixD& matrix, std::int64_t layer) {
  for (const RouterEdit& edit : edits) {
    for_each_block_of(edit, matrix, layer, [&](auto&& block) { block *= edit.scale; });
  }
}

}  // namespace

Routers edited_routers(Routers routers, const std::vector<RouterEdit>& edits) {
  for (std::int64_t layer = 1; layer < routers.num_layers(); ++layer) {
    scale_layer(edits, routers.weights[static_cast<std::size_t>(layer)], layer);
  }
  return routers;
}

MatrixD edit_scales(const std::vector<RouterEdit>& edits, std::int64_t layer,
                    std::int64_t num_key_value_heads) {
  MatrixD scales = MatrixD::Ones(num_key_value_heads, (layer + 1) * num_key_value_heads);
  scale_layer(edits, scales, layer);
  return scales;
}

std::int64_t num_edited_weights(const RouterEdit& edit, std::int64_t num_layers,
                                std::int64_t num_key_value_heads) {
  std::int64_t count = 0;
  const std::int64_t pairs =
      (edit.head ? 1 : num_key_value_heads) * (edit.source_head ? 1 : num_key_value_heads);
  for (std::int64_t layer = 1; layer < num_layers; ++layer) {
    if (edit.layer.value_or(layer) != layer) continue;
    if (edit.source.value_or(layer) > layer) continue;
    count += (edit.source ? 1 : layer + 1) * pairs;
  }
  return count;
}

EditedRouters::EditedRouters(std::shared_ptr<const RouterExploration> trained)
    : trained_(std::move(trained)),
      layer_values_(trained_->layer_values(RouterQuantity::kSigned)),
      states_(static_cast<std::size_t>(layer_values_.size()), RouteState::kAsTrained),
      is_stale_(states_.size(), false) {}

void EditedRouters::set_edits(std::vector<RouterEdit> edits) {
  std::swap(edits_, edits);
  // What both lists begin and end with makes no difference: the order of edits does not count.
  const auto [before, after] =
      std::mismatch(edits.begin(), edits.end(), edits_.begin(), edits_.end());
  const auto [before_end, after_end] = std::mismatch(edits.rbegin(), std::reverse_iterator(before),
                                                     edits_.rbegin(), std::reverse_iterator(after));
  std::for_each(before, before_end.base(), [this](const RouterEdit& edit) { mark_stale(edit); });
  std::for_each(after, after_end.base(), [this](const RouterEdit& edit) { mark_stale(edit); });
  for (std::int64_t layer = 1; layer < trained_->num_layers(); ++layer) {
    for (std::int64_t source = 0; source <= layer; ++source) {
      if (is_stale_[place(layer, source)]) refresh_block(layer, source);
    }
  }
}

void EditedRouters::mark_stale(const RouterEdit& edit) {
  const NamedRange layers = named(edit.layer, trained_->num_layers());
  for (std::int64_t layer = layers.first; layer < layers.first + layers.count; ++layer) {
    const NamedRange sources = named(edit.source, layer + 1);
    for (std::int64_t source = sources.first; source < sources.first + sources.count; ++source) {
      is_stale_[place(layer, source)] = true;
    }
  }
}

void EditedRouters::refresh_block(std::int64_t layer, std::int64_t source) {
  const std::int64_t heads = trained_->num_heads();
  MatrixD scales = MatrixD::Ones(heads, heads);
  for (const RouterEdit& edit : edits_) {
    if (edit.layer.value_or(layer) != layer || edit.source.value_or(source) != source) continue;
    const NamedRange rows = named(edit.head, heads);
    const NamedRange cols = named(edit.source_head, heads);
    scales.block(rows.first, cols.first, rows.count, cols.count) *= edit.scale;
  }
  RouteState state = RouteState::kScaled;
  double value = trained_->layer_values(RouterQuantity::kSigned)(layer, source);
  if ((scales.array() == 1.0).all()) {
    state = RouteState::kAsTrained;
  } else {
    if ((scales.array() == 0.0).all()) state = RouteState::kOff;
    const MatrixD& weights = trained_->routers().weights[static_cast<std::size_t>(layer)];
    value = weights.middleCols(source * heads, heads).cwiseProduct(scales).rowwise().sum().mean();
  }
  layer_values_(layer, source) = value;
  states_[place(layer, source)] = state;
  is_stale_[place(layer, source)] = false;
}

RouteState EditedRouters::state(std::int64_t layer, std::int64_t source) const {
  return states_[place(layer, source)];
}

MatrixD EditedRouters::scales(std::int64_t layer) const {
  return edit_scales(edits_, layer, trained_->num_heads());
}

double EditedRouters::weight(std::int64_t layer, std::int64_t head, std::int64_t source,
                             std::int64_t source_head) const {
  const MatrixD& weights = trained_->routers().weights[static_cast<std::size_t>(layer)];
  const double scale = layer == 0 ? 1.0 : edited_scale(edits_, layer, head, source, source_head);
  return weights(head, source * trained_->num_heads() + source_head) * scale;
}

}  // namespace lime

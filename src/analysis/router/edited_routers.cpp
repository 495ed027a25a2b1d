// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/edited_routers.h"

#include <algorithm>
#include <iterator>

namespace lime {

MatrixD edit_scales(const RouteScales& edits, std::int64_t layer,
                    std::int64_t num_key_value_heads) {
  MatrixD scales = MatrixD::Ones(num_key_value_heads, (layer + 1) * num_key_value_heads);
  if (layer == 0) return scales;
  for (std::int64_t source = 0; source <= layer; ++source) {
    scales.middleCols(source * num_key_value_heads, num_key_value_heads) =
        edits.block(layer, source, num_key_value_heads);
  }
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

EditedRouters::EditedRouters(std::shared_ptr<const CheckpointRouters> trained)
    : trained_(std::move(trained)),
      layer_values_(trained_->layer_values(RouterQuantity::kSigned)),
      states_(static_cast<std::size_t>(layer_values_.size()), RouteState::kOriginal),
      is_stale_(states_.size(), false) {}

void EditedRouters::set_edits(std::vector<RouterEdit> edits) {
  std::swap(edits_, edits);
  edit_scales_ = RouteScales(edits_);
  // Common prefixes and suffixes cancel, because the order of edits does not matter.
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
  for (std::int64_t layer = 1; layer < trained_->num_layers(); ++layer) {
    if (edit.layer.value_or(layer) != layer) continue;
    for (std::int64_t source = 0; source <= layer; ++source) {
      if (edit.source.value_or(source) == source) is_stale_[place(layer, source)] = true;
    }
  }
}

void EditedRouters::refresh_block(std::int64_t layer, std::int64_t source) {
  const std::int64_t heads = trained_->num_heads();
  const MatrixD scales = edit_scales_.block(layer, source, heads);
  RouteState state = RouteState::kScaled;
  double value = trained_->layer_values(RouterQuantity::kSigned)(layer, source);
  if ((scales.array() == 1.0).all()) {
    state = RouteState::kOriginal;
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
  return edit_scales(edit_scales_, layer, trained_->num_heads());
}

double EditedRouters::weight(std::int64_t layer, std::int64_t head, std::int64_t source,
                             std::int64_t source_head) const {
  const MatrixD& weights = trained_->routers().weights[static_cast<std::size_t>(layer)];
  const double scale = layer == 0 ? 1.0 : edit_scales_.at(layer, head, source, source_head);
  return weights(head, source * trained_->num_heads() + source_head) * scale;
}

}  // namespace lime

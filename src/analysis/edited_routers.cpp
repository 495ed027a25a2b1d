// SPDX-License-Identifier: Apache-2.0
#include "analysis/edited_routers.h"

#include <algorithm>
#include <optional>

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

}  // namespace lime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// The routers of all layers of a decoder.
///
/// weights[l] is R of layer l, [kv_heads, (l + 1) * kv_heads]: row = target head, column =
/// source_layer * kv_heads + source_head. Without a router: the identity in its last block.
struct Routers {
  std::int64_t num_key_value_heads = 0;
  std::vector<MatrixD> weights;

  std::int64_t num_layers() const { return static_cast<std::int64_t>(weights.size()); }
  /// Returns the router of a layer. @throws InvalidArgument  if the layer does not exist.
  const MatrixD& of(std::int64_t layer) const;
  /// Throws InvalidArgument naming the first layer with an invalid shape or value.
  void validate() const;
  /// Returns the routers of a plain transformer: every layer reads its own heads.
  static Routers identity(std::int64_t num_layers, std::int64_t num_key_value_heads);
};

}  // namespace lime

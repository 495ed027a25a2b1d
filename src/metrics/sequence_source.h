// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/matrix.h"

namespace lime {

/// Sequences that are read when their turn comes, so that only as many as there are threads lie
/// in memory.
struct SequenceSource {
  std::int64_t count = 0;
  /// Puts the representations of sequence `index` into `rows`, [num_tokens, dim]. Called from
  /// several threads at once; `rows` still holds an earlier sequence, so that its memory can serve
  /// again (`rows.resize(...)`).
  std::function<void(std::int64_t index, MatrixF& rows)> read;
};

}  // namespace lime

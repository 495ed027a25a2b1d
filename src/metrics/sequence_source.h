// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/matrix.h"

namespace lime {

/// Sequences that are read on demand, so that only one per thread is in memory.
struct SequenceSource {
  std::int64_t count = 0;
  /// Reads the representations of sequence `index` into `rows`, [num_tokens, dim]. Called from
  /// several threads at once; `rows` still contains an earlier sequence, so that its memory can be
  /// reused (`rows.resize(...)`).
  std::function<void(std::int64_t index, MatrixF& rows)> read;
};

}  // namespace lime

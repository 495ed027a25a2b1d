// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/kernels/attention.h"

namespace lime {

/// Computes attention() with a hand-written backward pass on the CPU. Requires
/// uses_cpu_gradients(q).
///
/// The pattern is not stored: the backward pass recomputes it one block of queries at a time (Dao
/// et al. 2022, arXiv:2205.14135, section 3). The graph keeps q, k and v only. One thread computes
/// all query heads of a key-value head, so results are bit-identical for any number of threads.
at::Tensor attention_with_gradients(const AttentionInput& input);

}  // namespace lime

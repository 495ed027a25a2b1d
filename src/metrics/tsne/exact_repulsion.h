// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <memory>

#include "metrics/tsne/repulsion.h"

namespace lime::tsne_detail {

/// Creates exact sums over all pairs, in float32 with sums in double. Time n^2.
std::unique_ptr<Repulsion> make_exact_repulsion(ThreadPool& pool);
/// Creates exact sums over all pairs, in double.
std::unique_ptr<Repulsion> make_double_repulsion(ThreadPool& pool);

}  // namespace lime::tsne_detail

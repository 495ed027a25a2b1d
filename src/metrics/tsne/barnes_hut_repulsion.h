// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <memory>

#include "metrics/tsne/repulsion.h"

namespace lime::tsne_detail {

/// Creates Barnes-Hut sums: a quadtree whose cells replace their points if width < theta *
/// distance, with their number, centre of mass and second moments; van der Maaten uses no moments.
/// Time n log n. Source: Barnes & Hut (1986); van der Maaten (2014), JMLR 15, section 4; moments as
/// in Greengard & Rokhlin (1987), here by Taylor's formula.
std::unique_ptr<Repulsion> make_barnes_hut_repulsion(double theta, ThreadPool& pool);

}  // namespace lime::tsne_detail

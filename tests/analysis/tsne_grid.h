// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lime::testing {

/// Embeds the layers of each cell of tests/golden/tsne_grid.json with --align: 50 to 5000 points, 2
/// to 40 layers, outliers of 10 to 1000 times the norm. Expects that every run ends at or below the
/// divergence of scikit-learn's, and keeps its extent and its neighbours; prints the extremes.
/// @param suite  the cells to run: quick (seconds), slow (a minute) or full (minutes)
void check_tsne_grid(const std::string& suite);

}  // namespace lime::testing

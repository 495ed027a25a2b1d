// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/router/router_subject.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Returns the number of parts that part `row` reads, those that are not NaN in its row.
int numSources(const MatrixD& shares, Eigen::Index row);
/// Draws the shares of outputs that each part reads, [part, source]. @param is_depth  parts are
/// attention and MLP of each layer; else layers
Figure sourcesFigure(const MatrixD& shares, bool is_depth, int layer_base);

/// Draws the fraction of each layer's weight on the embeddings, buffered layer 0, and 1/n.
Figure embeddingsFigure(const RouterSubject& subject, const RouterDisplay& display);

}  // namespace lime::explorer

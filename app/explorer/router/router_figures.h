// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "explorer/router/router_subject.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Returns the number of parts that part `row` reads, those that are not NaN in its row.
int numSources(const MatrixD& shares, Eigen::Index row);
/// Draws the shares of outputs that each part reads, [part, source]. @param is_depth  parts are
/// attention and MLP of each layer; else layers
Figure sourcesFigure(const MatrixD& shares, bool is_depth, int layer_base);
/// Describes a cell: "layer 3 reads layer 0: 0.4100, 1.64 x uniform (1/4)"; empty if there is none.
QString describeShare(const MatrixD& shares, bool is_depth, int layer_base, int part, int source);

/// Draws the fraction of each layer's weight on the embeddings, buffered layer 0, and 1/n.
Figure embeddingsFigure(const RouterSubject& subject, const RouterDisplay& display);

}  // namespace lime::explorer

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explorer/embeddings/embedding_groups.h"
#include "explorer/embeddings/embedding_set.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Draws the embeddings of one layer, a panel per model that has it.
Figure embeddingsFigure(const EmbeddingSet& set, const EmbeddingGroups& groups,
                        const std::string& site, int layer, int layer_base);

}  // namespace lime::explorer

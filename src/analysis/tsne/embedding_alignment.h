// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/embeddings_file.h"

namespace lime {

/// Aligns each layer of a site with the previous one by rotation, reflection and translation, to
/// follow points across layers. t-SNE is invariant to all three. Distances are preserved up to one
/// factor per layer, which gives all layers the size of the first.
void align_layers(CaptureEmbeddings& capture);

}  // namespace lime
